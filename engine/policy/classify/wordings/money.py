"""An empty purse, a lapsed plan, a spending limit (families 5 and 6; R12, R16, R20)."""

from __future__ import annotations

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify.families import Family, any_of, say
from engine.policy.classify.statuses import WHOLE
from engine.policy.classify.wordings.terms import BE, RATE_WORDS

# A text that carries a 402 of its own is judged by the 402 rules (`payment`), whatever its length (R12).
HARD_402 = any_of(
    say("402", r"""(?:status|code)(?:[ _]code)?["']?\s?[:=]\s?["']?402""" + WHOLE),
    say("402", r"\bhttp(?:/[\d.]{1,3})?[ :-]{0,2}402" + WHOLE),
    say("402", r"\berror(?: code)?[ :=]{0,3}402" + WHOLE),
    say("402", r"\b(?:got|returned|received)(?: an?)?(?: http)? 402" + WHOLE),
)

_SPENDING = (say("spend", r"\bspend(?:ing)?[ _](?:limit|cap)\b"),)
_EXPLICIT = (
    say("payment required", r"\bpayment[ _]required\b"),
    say(
        "insufficient",
        r"\binsufficient[ _](?:credits?|quota|balance|funds?)\b|\binsufficient (?:[a-z]{1,20} ){1,4}(?:balance|funds?|credits?)\b",
    ),
    say("credit balance", r"\bcredit balance\b.{0,24}\b(?:low|exhausted|depleted|insufficient|negative|zero|empty|used up)\b"),
    say("plans+billing", r"\bplans (?:&|&amp;) billing\b"),
    say("extra usage", r"\bout of extra usage\b|\bdraws? from (?:your )?extra usage\b"),
    say(
        "used+credits|out+credits",
        r"\bused all (?:of )?(?:your |its |the )?(?:available |remaining )?credits\b"
        r"|\b(?:ran|run|running|are) out of (?:\w{1,12} )?credits\b",
    ),
    say(
        "have+credits|has+credits",
        r"\b(?:does not|doesn't|do not|don't) have (?:any|enough|sufficient) (?:\w{1,12} )?credits\b"
        r"|\b(?:has|have) no (?:\w{1,12} )?credits\b",
    ),
    say("no credits", r"\bno credits\b"),
    say(
        "credit",
        rf"\bcredits?{BE}{{0,3}} (?:depleted|exhausted|used up)\b"
        rf"|\brequires? (?:\w{{1,12}} )?more credits\b|\bmore credits (?:are )?required\b",
    ),
    say("billing+hard|billing+error|billing+not", r"\bbilling[ _](?:hard[ _]limit|error|not[ _]active)\b(?<!billing error)"),
    say("billing+active", r"\bnot active\b.{0,24}\bcheck your billing\b"),
    say(
        "budget",
        rf"(?<!thinking )(?<!thinking_)(?<!token )(?<!retry )(?<!reasoning )(?<!time )(?<!latency )\bbudget{BE}{{0,2}}[ _](?:exceeded"
        rf"|exhausted)\b"
        r"|\bover(?: (?:its|your|the))? budget\b|\bbudget limit(?: has been| was)? (?:exceeded|reached)\b|\bexceededbudget\b",
    ),
    say(
        "budget",
        r"\b(?:exceeded|reached) (?:your |its |the |this )?(?:(?:daily|weekly|monthly|key|team|user|project|max) ){0,2}budget\b(?! tokens)",
    ),
    say("balance", rf"\bbalance{BE}{{0,2}} (?:insufficient|too low|negative|not enough|exhausted|depleted)\b"),
    say("not enough", r"\bnot enough (?:\w{1,12} )?(?:credits?|balance|funds)\b"),
    say(
        "overdue",
        r"\boverdue (?:\w{1,12} )?(?:balance|payment|bill|invoice)s?\b|\b(?:bill|payment|invoice|account|balance)s? (?:is|are) overdue\b",
    ),
    say("arrear", r"\barrears\b|\barrearage\b"),
    say("failure to pay", r"\bfailure to pay\b"),
    say("unpaid", r"\bunpaid (?:\w{1,12} )?(?:invoice|bill|balance)s?\b"),
    say("payment instrument", r"\bpayment[ _]instrument\b"),
    say(
        "require+billing|billing+enabled|billing+disabled|billing+closed",
        r"\brequires? billing\b|\bbilling (?:is |has been |must be |to be )?(?:not (?:been )?enabled|disabled|closed)\b",
    ),
    say("free+exhausted|free+used", r"\bfree (?:tier|quota)\b.{0,40}\b(?:exhausted|used up)\b.{0,200}\b(?:paid|pay|purchase|billing)\b"),
    say("subscription", r"\b(?:does not|doesn't|do not|don't) have an? (?:valid|active) (?:[\w-]{1,20} ){0,3}subscription\b"),
    say("subscription", r"\bno (?:valid|active) (?:[\w-]{1,20} ){0,3}subscription\b"),
    say("expired|lapsed|ended", r"\b(?:subscription|plan)(?: has| have| is)?(?: already)? (?:expired|lapsed|ended)\b"),
    say("billing", r"^(?:error[: -]{1,3})?billing(?: error)?(?: ?[:-]).{0,400}\b(?:upgrade|purchas|pay|credits|plan)"),
    say("余额", r"余额.{0,3}(?:不足|用尽|耗尽)"),
    say("欠费", r"欠费"),
    say("套餐", r"套餐.{0,3}(?:到期|过期)"),
)
# "Enable billing" is a remedy: inside a rate-limit text it is an advertisement (R20).
ENABLE_BILLING = Family(
    "billing", R.BILLING, any_of(say("enable billing", r"\benable billing\b")), unless=any_of(*RATE_WORDS), loose_limit=512
)
BILLING = Family("billing", R.BILLING, any_of(*_EXPLICIT, *_SPENDING), unless=any_of(say("429", r"^(?:error:? )?429\b")), loose_limit=512)
BILLING_402 = Family("billing", R.BILLING, any_of(*_EXPLICIT))
