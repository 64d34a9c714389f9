"""Too much of it: windows, throttles and full machines (families 7-9; R21-R23)."""

from __future__ import annotations

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify.families import Family, any_of, said, say
from engine.policy.classify.statuses import WHOLE
from engine.policy.classify.wordings.terms import RATE_WORDS, TOKEN_RATE

_PERIOD = r"(?:hourly|daily|weekly|monthly|session|\d{1,3}[ -]hours?)"
PERIODIC = Family(
    "periodic",
    R.RATE_LIMIT,
    any_of(
        say(
            "hour+limit|daily+limit|weekly+limit|monthly+limit|session+limit|hour+quota|daily+quota|weekly+quota|monthly+quota|session+quota",
            rf"\b{_PERIOD}(?:/{_PERIOD}){{0,3}}(?: [a-z]{{1,12}})? (?:limits?|quota)\b",
        ),
        say("hit your", r"\bhit your (?:[\w-]{1,16} ){0,3}limit\b"),
        say("limit+reset|quota+reset", r"\b(?:limits?|quota)\b.{0,80}\b(?:resets|will reset|reset (?:at|on|in))\b"),
        say("allocation", rf"\b{_PERIOD} (?:free )?allocation\b"),
        say("regain access", r"\bregain access on\b"),
        say("subscription quota", r"\bsubscription quota\b.{0,120}\b(?:automatic (?:quota )?refresh|rolling (?:time )?window)\b"),
    ),
)

# A text that counts tokens by time is about a throttle, never about the size of the prompt.
TOKEN_RATE_LIMIT = any_of(*TOKEN_RATE)
RATE_LIMIT = Family(
    "rate_limit",
    R.RATE_LIMIT,
    any_of(
        *RATE_WORDS,
        *TOKEN_RATE,
        say("~ratelimit", r"ratelimit(?:error|exceeded|reached)?\b"),
        say("too many concurrent", r"\btoo many concurrent\b"),
        say("throttl", r"\bthrottl(?:ed|ing|ingexception)\b"),
        say("~throttlingexception", r"throttlingexception"),
        say("concurrency", r"\bconcurrency limit\b.{0,30}\b(?:reached|breached|exceeded)\b|\breached max (?:organization )?concurrency\b"),
        say("model+cooldown", r"\bmodel_cooldown\b"),
        say("exhausted", r"\bresource(?:s)?(?:[ _]|(?: has| have)? been | is )exhausted\b|\bexhausted your capacity\b"),
        say("quota", r"\bquota(?: (?:has been|was|is|limit|limits))? (?:exceeded|exhausted)\b|\bservice quota\b|\bquota_exceeded\b"),
        say("quota", r"\bexceed(?:ed|s)? (?:your |the |its |our |their )?(?:[\w-]{1,16} ){0,3}quota\b"),
        say("usage", r"\busage[ _]limit"),
        say("request+per", r"\brequests?[ -]per[ -](?:min|day|hour|second)"),
        say("rpm", r"\brpm\b"),
        say("rpd", r"\brpd\b"),
        say("worker+ai", r"\bworkers?_ai\b.{0,80}\b(?:quota|limit)\b"),
        say("too+many+tokens", r"\btoo many tokens\b(?!.{0,40}\bin the prompt\b)"),
        say("parallel requests", r"\bmax(?:imum)? parallel requests?\b"),
        say("rate exceeded", r"\brate exceeded\b"),
        say("请求", r"请求.{0,6}(?:过于频繁|频率|过多|过快|太频繁)"),
        say("频率", r"频率.{0,4}(?:限制|过高|过快)"),
        say("限", r"速率限制|限流"),
        say("配额", r"配额.{0,4}(?:不足|超|用尽|耗尽)"),
        say("额度", r"额度.{0,4}(?:用尽|耗尽|用完)"),
        say("并发", r"并发.{0,6}(?:过高|超|限制)"),
    ),
)

# Bare numbers count only where no status is known otherwise (R8).
BARE_429 = Family("rate_limit", R.RATE_LIMIT, any_of(say("429", r"(?<![\w.])(?<!\d,)(?<![a-z]-)429" + WHOLE)))

OVERLOADED = Family(
    "overloaded",
    R.OVERLOADED,
    any_of(
        say("overloaded", r"(?<![a-z])overloaded(?![a-z])"),
        say("server overload", r"\bserver overload\b"),
        say("capacity", r"\b(?:at|over|beyond|out of) (?:\w{1,12} )?capacity\b|\bcapacity[ _](?:has been |is |temporarily )?exceeded\b"),
        said("high demand", "high load"),
        say(
            "service+unavailable",
            r"\bservice[ _]unavailable\b.{0,120}(?:overload|capacity|high[ _]demand)"
            r"|(?:overload|capacity|high[ _]demand).{0,120}\bservice[ _]unavailable\b",
        ),
        say("~modelnotready", r"\bmodelnotready(?:exception)?\b"),
        say("过载", r"过载"),
        say("过大", r"访问量过大"),
        say("负载", r"负载过高"),
    ),
)
