"""What lies between: our own machine (R27), the way to the provider, the provider's front (families 14, 16, 17; R14, R26)."""

from __future__ import annotations

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify.families import Family, any_of, said, say
from engine.policy.classify.statuses import WHOLE

LOCAL = Family(
    "local",
    None,
    any_of(
        say(
            "certificate+verify|first+certificate|self+certificate",
            r"\bcertificate[ _]verify[ _]failed\b|\bverify the first certificate\b|\bself[- ]signed certificate\b",
        ),
        say(
            "certificate",
            r"\bcertificate (?:has expired|is not valid|is not yet valid|verification)\b|\b(?:get|verify) (?:local )?issuer certificate\b",
        ),
        say("hostname", r"\bhostname mismatch\b|\bhostname\b.{0,80}\bdoesn't match\b"),
        say("wrong version", r"\bwrong[ _]version[ _]number\b"),
        say("proxy authentication", r"\bproxy authentication (?:is )?required\b"),
        say("tunnel connection", r"\btunnel connection failed\b"),
        say("407", r"(?<![\w.,])407" + WHOLE),
        said("no space left on device", "too many open files", "read-only file system", "disk quota exceeded"),
        say("errno+~[errno 1", r"\[errno 13?\]"),
        say("permission denied", r"\bpermission denied: '"),
        say("url|scheme", r"\brequest url is\b|\binvalid url\b|\bmalformed url\b|\bno scheme supplied\b"),
        say("unsupported protocol|missing+protocol", r"\bunsupported protocol\b|\bmissing an 'https?://'"),
        say("codec+can", r"\bcodec can't (?:de|en)code\b"),
        say("expecting+value|expecting+property|expecting+delimiter", r"\bexpecting (?:value|property name|',' delimiter|':' delimiter)\b"),
        say("json", r"\bjsondecodeerror\b|\bin json at position\b|\bis not valid json\b|\bend of json input\b"),
        say("extra data", r"\bextra data: line\b"),
        say("unterminated", r"\bunterminated string starting\b"),
        say("keyerror", r"\bkeyerror\b"),
        say("'", r"^'[^']{1,80}'$"),
    ),
)

_ERRNO = (
    r"\b(?:etimedout|esockettimedout|econn(?:reset|aborted|refused)|enet(?:unreach|reset|down)"
    r"|ehost(?:unreach|down)|epipe|eai_again|enotfound)\b"
)

TRANSPORT = Family(
    "transport",
    R.TIMEOUT,
    any_of(
        say("an unknown error occurred", r"^an unknown error occurred\.?$"),
        say("internal server error", r"\binternal[ _]server[ _]error\b"),
        say("internal error", r"\binternal error encountered\b"),
        say("bad gateway|gateway+time", r"\bbad gateway\b|\bgateway time-?out\b"),
        say("unavailable", r"\bservice[ _](?:is |was )?(?:temporarily |currently )?unavailable\b|\bunavailableexception\b"),
        say("upstream+error|upstream+healthy", r"\bupstream[ _](?:connect )?error\b|\bno healthy upstream\b"),
        say(
            "connection+reset|connection+refused|connection+aborted|connection+failed|connection+closed|connection+broken",
            r"\bconnection (?:was |has been |unexpectedly )?(?:reset|refused|aborted|closed|broken)\b"
            r"|\bconnection attempts failed\b|\bclosed connection\b",
        ),
        say("closed|goaway", r"\bgoaway\b|\bremote end closed\b|\bpeer closed\b"),
        say("name+known|name+resolution|nodename", r"\bname or service not known\b|\bname resolution\b|\bnodename nor servname\b"),
        say("getaddrinfo", r"\bgetaddrinfo (?:failed|enotfound|eai_again)\b"),
        said(
            "other side closed",
            "no route to host",
            "no such host",
            "network is unreachable",
            "host is unreachable",
            "broken pipe",
            "max retries exceeded",
        ),
        say("connect+to", r"\b(?:could not|cannot|can't|couldn't|failed to|unable to) connect to\b"),
        said("server disconnected", "response ended prematurely", "incompleteread", "connectionterminated"),
        say("~serverdisconnected", r"\bserverdisconnected(?:error)?\b"),
        say("eof occurred", r"\beof occurred in violation of protocol\b"),
        say("服务", r"服务器?(?:内部)?(?:错误|异常)|服务器?暂时不可用|服务不可用"),
        say("系统", r"系统(?:繁忙|错误|异常)"),
    ),
)

# In an `api_error` only: the type says "ours", these say "for now".
API_ERROR_HINT = any_of(
    say("unknown error", r"\bunknown error,? 520\b"),
    say("error", r"\bbackend error\b|\binternal server error\b|\bupstream error\b"),
    say("try again later", r"\btry again later\b"),
)

NO_ERROR_DETAILS = Family(
    "no_error_details", R.NO_ERROR_DETAILS, any_of(say("unknown error", r"^unknown error \(no error details in response\)$"))
)

TIMEOUT = Family(
    "timeout",
    R.TIMEOUT,
    any_of(
        say(
            "~timeout",
            r"(?:\b|[a-z])timeout(?:error|exception|expired)?\b"
            r"(?!['\"`]{0,2}:? ?(?:must|should|parameter|value|field|is not|is invalid|setting|option)\b)",
        ),
        say("time", r"\btimed[ -]out\b|\btime-out\b|\btime out\b"),
        say("deadline", r"\bdeadline[ _](?:has been )?(?:exceeded|expired)\b"),
        say("connection error|connectionerror|apiconnectionerror", r"\b(?:api)?connection ?error\b"),
        say("network", r"\bnetwork (?:request )?(?:error|failed)\b|\bnetwork connection (?:lost|error)\b"),
        said("fetch failed", "socket hang up"),
        say(
            "reason+abort|reason+error|reason+malformed|reason+network",
            r"""(?<![a-z])reason["']?: ?["']?(?:abort|error|malformed_response|network_error)\b""",
        ),
        say("aborted", r"\b(?:operation|request|stream|response|fetch|call) (?:was |has been |is )?aborted\b"),
        say("stream closed", r"\bstream closed\b"),
        say("without sending", r"\bwithout sending (?:any )?chunks?\b"),
        say("etimedout|esockettimedout|econn|enet|ehost|epipe|eai|enotfound", _ERRNO),
        say("connecterror|readerror|writeerror|remoteprotocolerror", r"\b(?:connect|read|write|remoteprotocol)error\b"),
        say("网络", r"网络(?:错误|异常|超时)"),
        say("超时", r"超时"),
    ),
)
