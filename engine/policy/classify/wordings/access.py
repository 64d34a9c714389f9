"""Keys, tokens and who may use them (families 12 and 13; R24, R25)."""

from __future__ import annotations

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify.families import Family, any_of, said, say
from engine.policy.classify.statuses import WHOLE
from engine.policy.classify.wordings.terms import BE

# A key, and the masked form in which providers quote it.
_KEY = r"(?:(?<![a-z])|api)keys?"
_MASKED = r"""(?: [`'"(]?[\w.*-]{0,60}[\d*][\w.*-]{0,20}[`'")]?)?"""
AUTH_PERMANENT = Family(
    "auth_permanent",
    R.AUTH_PERMANENT,
    any_of(
        say("key|keys|apikey", rf"{_KEY}{_MASKED}{BE}{{0,4}}[ _](?:revoked|deactivated|deleted|disabled)\b"),
        say("key|keys|apikey", r"\b(?:revoked|deactivated|deleted|disabled|leaked|compromised) (?:api[ _-]?)?key\b"),
        say("leak|compromised", rf"{_KEY}\b.{{0,80}}\b(?:leak|leaked|leakage|compromised)\b"),
        say("token+revoked", r"(?<![a-z])tokens?(?![a-z]).{0,40}(?<![a-z])revoked\b|\brevoked (?:\w{1,12} )?token\b"),
        say("reused|revoked|already been used", r"\b(?:oauth|refresh)\b.{0,120}\b(?:reused|revoked|already been used)\b"),
        say("sign in again", r"\b(?:oauth|refresh)\b.{0,120}\bsign in again\b"),
        say("invalid grant", r"\binvalid[ _]grant\b"),
        say("workspace", rf"\bdeactivated[ _]workspace\b|\bworkspace{BE}{{0,3}}[ _]deactivated\b"),
        say("account+deactivated|account+disabled|account+terminated", rf"\baccount{BE}{{0,3}}[ _](?:deactivated|disabled|terminated)\b"),
        say("not allowed organi", r"\bnot allowed for this organi[sz]ation\b"),
        say("organi+disabled|organi+deactivated", rf"\borgani[sz]ation{BE}{{0,3}} (?:disabled|deactivated)\b"),
    ),
)

_CRED = r"(?:tokens?|keys?|credentials?|logins?|secrets?)"
AUTH = Family(
    "auth",
    R.AUTH,
    any_of(
        say("key|keys|apikey", r"\b(?:invalid|incorrect|wrong|missing|bad|expired|malformed|no)[ _](?:\w{1,12} )?(?:x-)?api[ _-]?key\b"),
        say("key|keys|apikey", r"\bapi[ _-]?key(?: \w{1,12}){0,3} (?:not valid|expired|invalid|missing|incorrect|required)\b"),
        say(
            "key|keys|apikey",
            r"\b(?:invalid|incorrect|wrong|missing) (?:access |secret |subscription |auth(?:entication)? |virtual )?key\b",
        ),
        say("provide an api key", r"\bprovide an api key\b"),
        say(
            "invalid+token|incorrect+token|wrong+token|missing+token|bad+token",
            r"\b(?:invalid|incorrect|wrong|missing|bad)[ _](?:(?:bearer|api|access|refresh"
            r"|auth|authentication|oauth|proxy|server|security|jwt|id|session) ){0,3}"
            r"token\b(?! (?:at|in|count|limit|id|number|type|s|index|position|range)\b)",
        ),
        say("security token", r"\bsecurity token\b.{0,40}\b(?:invalid|expired)\b"),
        say("credential", r"\binvalid (?:\w{1,16} ){0,2}credentials?\b|\bno (?:\w{1,12} )?credentials? (?:were |was )?found\b"),
        say("credential", r"\b(?:unable to locate|could not (?:load|find|locate)|missing) (?:\w{1,12} ){0,2}credentials\b"),
        say("could+validate|could+authenticate", r"\bcould not (?:validate|authenticate)\b"),
        say("authenticate", r"\bre-?authenticate\b|\bfailed to authenticate\b|\bnot authenticated\b|\bunauthenticated\b"),
        say("authentication", r"\bauthentication[ _](?:error|failed|failure|fails|required|is (?:required|disabled))\b"),
        said(
            "unauthorized",
            "forbidden",
            "access denied",
            "access_denied",
            "permission_error",
            "insufficient permission",
            "insufficient permissions",
        ),
        say("scope", r"\bmissing (?:[\w-]{1,16} ){0,3}scopes?\b|\binsufficient[ _]scopes?\b|\bmissing_scope\b"),
        say("expired", rf"(?<![a-z]){_CRED}(?: \w{{1,12}}){{0,3}}[ _]expired\b|\bexpired[ _](?:[\w-]{{1,16}} ){{0,2}}{_CRED}\b"),
        say("sso session", r"\bsso session\b.{0,80}\bexpired\b"),
        say("refresh", r"\btoken refresh failed\b|\b(?:failed to|could not|cannot) refresh (?:the )?(?:[\w-]{1,16} )?token\b"),
        say("log+again|login+again|sign+again|signin+again", r"\b(?:log|sign) ?in again\b"),
        say("login fail", r"\blogin fail(?:ed|ure)?\b"),
        say("access to", r"\b(?:don't|do not|does not|doesn't) have access to (?:the |this )?model\b"),
        say("service+disabled|api+disabled", r"\b(?:service|api)\b.{0,100}\bis disabled\b"),
        say("has not been used in project", r"\bapi has not been used in project\b"),
        say("失败", r"(?:认证|鉴权|身份验证|验证)失败"),
        say(
            "密钥|令牌|~无效|~错误|~失效|~过期|~不正确",
            r"(?:密钥|令牌|api ?key).{0,6}(?:无效|错误|不正确|过期|失效)|(?:无效|错误)的.{0,6}(?:密钥|令牌|api ?key)",
        ),
        say("授权", r"未授权"),
    ),
)

BARE_401_403 = Family("auth", R.AUTH, any_of(say("401|403", r"(?<![\w.])(?<!\d,)(?<![a-z]-)40[13]" + WHOLE)))
