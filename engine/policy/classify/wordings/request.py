"""The caller's own part: session, model, size and shape of what was asked (families 1-4, 15, 18; R17-R19)."""

from __future__ import annotations

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify.families import Family, any_of, said, say
from engine.policy.classify.wordings.terms import BE, TOKEN_RATE

_ID = r"""(?:[:=]? ?[`'"]?[\w./:@+-]{1,120}[`'"]?,?)"""

_GONE = r"(?:not found|not be found|not exist|does not exist|doesn't exist|do not exist|no longer exists?)"

_TOO_SMALL = say("context window", r"\bcontext window\b.{0,40}(?:\btoo small\b|\bminimum is\b)")

IMAGE = Family(
    "image",
    None,
    any_of(
        say("image", r"\bimages?\b(?: [\w.]{1,24}){0,4} (?:exceeds?|(?:is |are )?too (?:large|big))\b(?!.{0,60}\bcontext\b)"),
        say("image", r"\bimages?\b.{0,60}\btoo many pixels\b"),
        say("too many pixels", r"\btoo many pixels\b"),
        say("image+source", r"\bimage\.source\S{0,40}: image exceeds\b"),
    ),
)

SESSION_EXPIRED = Family(
    "session_expired",
    R.SESSION_EXPIRED,
    any_of(
        say(
            "session+not|session+expired|session+invalid|session+exist|conversation+not|conversation+expired|conversation+invalid|conversation+exist",
            rf"(?<!sso )\b(?:session|conversation)(?:[ _]id| with (?:the )?id)?{_ID}?{BE}{{0,3}}"
            rf"[ _](?:{_GONE}|not_found|expired|invalid)\b",
        ),
        say("session+no|conversation+no", r"\bno such (?:session|conversation)\b|\bno (?:session|conversation) (?:was )?found\b"),
        say(
            "invalid+session|expired+session|unknown+session|invalid+conversation|expired+conversation|unknown+conversation",
            r"\b(?:invalid|expired|unknown)[ _](?:session|conversation)(?:[ _]id)?\b(?![ _](?:token|key|cookie))",
        ),
    ),
)

MODEL_NOT_FOUND = Family(
    "model_not_found",
    R.MODEL_NOT_FOUND,
    any_of(
        say("unknown model", r"\bunknown[ _]model\b"),
        say("no such model", r"\bno such model\b"),
        say(
            "invalid model",
            r"\binvalid[ _]model\b(?![ _](?:parameter|output|response|input|config|setting|option|behavio|state|weights))",
        ),
        say("model+found|model+exist", rf"\bmodels?(?: or endpoint)?{_ID}?{BE}{{0,3}} {_GONE}\b"),
        say("model+identifier|~model_not_", r"\bmodel_not_(?:found|supported|exist)\b|\bmodel identifier is invalid\b"),
        say("models+found", r"\bmodels/\S{1,120} (?:is|was) not found\b"),
        say("not found the model", r"\bnot found the model\b"),
        say(
            "model+not supported",
            r"(?<!for this )(?<!for the )(?<!by this )(?<!by the )(?<!with this )(?<!with the )(?<!on this )"
            rf"\bmodel{_ID}? is not supported\b"
            r"|\bnot supported model\b",
        ),
        said("decommissioned", "could not resolve the foundation model", "not_found_error"),
        say("no endpoints found", r"\bno endpoints found (?:for|matching)\b"),
        say("not a valid model", r"\bis not a valid model\b"),
        say("deprecated", r"\bdeprecated\b.{0,160}\bupgrade to\b"),
        say("模型", r"模型.{0,40}不存在|模型不可用"),
    ),
)

CONTEXT_OVERFLOW = Family(
    "context_overflow",
    R.CONTEXT_OVERFLOW,
    any_of(
        say("request+too+large", r"\brequest[ _](?:is )?too[ _]large\b"),
        say(
            "context+exceeded|context+overflow",
            r"\bcontext[ _](?:length|window|size|limit)(?: limit)?(?: (?:is|was|has been))?"
            r"[ _](?:exceeded|exceeds (?:the )?limit|overflow)\b",
        ),
        say("contextwindowexceeded", r"contextwindowexceeded"),
        say("context+window+exceeded", r"context_window_exceeded"),
        say("maximum context length|max context length", r"\bmax(?:imum)? context length\b"),
        say("too long", r"\bprompt(?: is)? too long\b|\binput(?: is)? too long for (?:the |this |requested |the requested )?model\b"),
        say("context+exceed", r"\bexceed(?:s|ed)?\b(?: [\w']{1,16}){0,5} context (?:window|length|limit|size)\b"),
        say("context limit", r"\bexceed(?:s|ed)? (?:the )?context limit\b"),
        say("maximum number of", r"\b(?:input|prompt)\b.{0,60}\bexceeds? the max(?:imum)? (?:allowed )?number of (?:input )?tokens\b"),
        said("maximum prompt length", "model token limit", "context length of only", "greater than the context length", "context overflow"),
        say("longer than|larger than", r"\b(?:longer|larger) than the (?:model's )?max(?:imum)? (?:model|context) length\b"),
        say("max+new+tokens", r"\binputs`? tokens \+ `?max_new_tokens`? must be\b"),
        say("must have less than", r"\binputs`? must have less than [\d,]{1,12} tokens\b"),
        say(
            "tokens+exceed",
            r"\bnumber of tokens in the prompt cannot exceed\b|\btotal tokens?\b.{0,30}\bexceeds? (?:the )?(?:model(?:'s)? )?(?:max|limit)",
        ),
        say("configured context size", r"\btokens\b.{0,40}\bconfigured context size\b"),
        say(
            "context window+room|request+context window",
            r"\bran out of room in the (?:model's )?context window\b|\brequest size exceeds\b.{0,60}\bcontext window\b",
        ),
        say("input length", r"\brange of input length should be\b"),
        say("reduce the length", r"\breduce the length of (?:the |your )?(?:messages|prompt|input)\b"),
        say("request exceeds the maximum size", r"\brequest exceeds the maximum size\b"),
        say("413+large", r"(?<![\w.,])413\b(?:.{0,60})\btoo large\b"),
        say("上下文", r"上下文.{0,8}(?:过长|超|太长)|超.{0,8}上下文|压缩上下文"),
        say("过长", r"(?:输入|提示词?|请求)(?:内容|文本)?过长"),
    ),
    unless=any_of(*TOKEN_RATE, say("reasoning is", r"\breasoning is (?:mandatory|required)\b"), _TOO_SMALL),
)

FORMAT = Family(
    "format",
    R.FORMAT,
    any_of(
        say("tool+use+id", r"\btool_use(?:\.|_)id\b"),
        said("string should match pattern", "invalid request format", "conversation must end with a user message"),
        say("tool call id", r"\btool call id was\b.{0,80}\bmust be\b"),
        say("prefill", r"\bdoes not support assistant message prefill\b"),
    ),
)

MODEL_GONE = Family(
    "model_not_found", R.MODEL_NOT_FOUND, any_of(say("deactivated", r"\bmodel(?:_is)?_deactivated\b|\bmodel has been deactivated\b"))
)
