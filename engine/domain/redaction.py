"""The one sink that text passes before it leaves the process as a log line, an event, a feed row, an export or a crash report
(spec/store.md, "Secrets"). It knows the exact values of every loaded secret in the forms in which text may hold them, and the shapes
of common keys. It does not neutralise control characters: how text is drawn is the business of views."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

MASK = "***"

MIN_SECRET = 6
"""A shorter "secret" (a local server's `x`) would blank out ordinary words and is worth nothing to a thief."""

_GRAM = 6
_STRIDE = 7
_INDEXED = _GRAM + _STRIDE - 1
_REMEMBERED = 80
_MAX_CLEAN = 8_192

_SHAPES = re.compile(
    r"(?:\b(?:sk|pk|rk|xai|gsk|pplx|csk|fw|key|r8|hf|ghp|gho|ghs|github_pat|glpat|xox[abprs]|tgp_v1|nvapi)[-_](?=[A-Za-z_-]*\d)[A-Za-z0-9_\-]{16,}"
    r"|\bAIza[A-Za-z0-9_\-]{30,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bya29\.[A-Za-z0-9_\-.]{20,}"
    r"|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@))"
)
"""Keys that nobody told us of: another account's, echoed by a provider; credentials in an address."""

_LABELLED = re.compile(
    r"(?i)(\b(?:bearer|basic)\s+|\b(?:x-api-key|api[-_]?key|x-goog-api-key|access[-_]?token|refresh[-_]?token|client[-_]?secret|authorization)"
    r"[\"']?\s*[:=]\s*[\"']?(?:bearer\s+|basic\s+)?)(?=[^\s\"']*\d)([A-Za-z0-9+/_\-.~%=]{8,})"
)
"""`Authorization: Bearer ...`, `api_key=...`: the label stays, what it labels goes. With a digit: `api_key: required` is a word."""

_HINT = re.compile(r"(?i)[-_]|AIza|AKIA|ASIA|ya29|eyJ|://|bearer|basic|token|secret|key|authorization")


class Redactor:
    """Masks secrets. Adding is for one thread; masking may happen in any (the index only grows)."""

    def __init__(self) -> None:
        self._added: set[str] = set()
        self._forms: set[str] = set()
        self._short: list[str] = []
        self._grams: dict[str, tuple[re.Pattern[str], ...]] = {}
        self._clean: set[str] = set()

    def add(self, secret: str | None) -> None:
        """From now on that value is masked in each of its forms. None and values too short to be a secret are ignored."""
        if secret is None or len(secret) < MIN_SECRET or secret in self._added:
            return
        self._added.add(secret)
        in_base64 = _base64_forms(secret)
        for form in sorted((_text_forms(secret) | in_base64) - self._forms):
            self._forms.add(form)
            self._index(form, in_base64=form in in_base64)
        self._clean = set()

    def mask(self, text: str) -> str:
        """The text without secrets. Text in which nothing matches comes back as it is, after a scan of a few microseconds."""
        if len(text) < MIN_SECRET or text in self._clean:
            return text
        masked = self._mask(text)
        if masked == text and len(text) <= _REMEMBERED:
            # Events and decisions are made of the same few words: slugs, refs, ids.
            if len(self._clean) >= _MAX_CLEAN:
                self._clean = set()
            self._clean.add(text)
        return masked

    def _mask(self, text: str) -> str:
        if self._grams or self._short:
            text = self._mask_exact(text)
        if _HINT.search(text) is not None:
            text = _LABELLED.sub(lambda m: m[1] + MASK, text)
            text = _SHAPES.sub(MASK, text)
        return text

    def mask_json(self, value: object) -> object:
        """The same for every string, keys included, of a JSON-like value; the value itself is left as it was."""
        if isinstance(value, str):
            return self.mask(str(value))
        if value is None or isinstance(value, int):
            return value
        if isinstance(value, Mapping):
            return {self.mask(k) if isinstance(k, str) else k: self.mask_json(v) for k, v in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.mask_json(v) for v in value]
        return value

    def _index(self, form: str, in_base64: bool) -> None:
        if len(form) < _INDEXED:
            self._short.append(form)
            return
        # The bytes around a key in base64 (`user:key`) share characters with it: the whole run goes.
        around = r"[A-Za-z0-9+/_\-]*" if in_base64 else ""
        pattern = re.compile(around + re.escape(form) + around + ("=*" if in_base64 else ""))
        # Looking at every 7th place of a text is enough when all 6-grams of the first 12 characters are known.
        for start in range(_STRIDE):
            gram = form[start : start + _GRAM]
            self._grams[gram] = (*self._grams.get(gram, ()), pattern)

    def _mask_exact(self, text: str) -> str:
        grams, found = self._grams, None
        for start in range(0, len(text) - _GRAM + 1, _STRIDE):
            patterns = grams.get(text[start : start + _GRAM])
            if patterns is not None:
                found = patterns if found is None else (*found, *patterns)
        if found is not None:
            for pattern in dict.fromkeys(found):
                text = pattern.sub(MASK, text)
        for form in self._short:
            if form in text:
                text = text.replace(form, MASK)
        return text


def _text_forms(secret: str) -> set[str]:
    """How text may hold the secret: plain, URL-quoted, JSON-escaped (once and twice), as a Python repr."""
    plain = json.dumps(secret, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(secret)[1:-1]
    forms = {
        secret,
        quote(secret, errors="surrogatepass"),
        quote(secret, safe="", errors="surrogatepass"),
        quote_plus(secret, errors="surrogatepass"),
        plain,
        ascii_only,
        json.dumps(plain, ensure_ascii=False)[1:-1],
        json.dumps(ascii_only)[1:-1],
        plain.replace("/", "\\/"),
        repr(secret)[1:-1],
    }
    forms |= {re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), form) for form in forms}
    return {form for form in forms if len(form) >= MIN_SECRET}


def _base64_forms(secret: str) -> set[str]:
    """The characters that the secret alone decides, at each of the three places where it may begin in a group of three bytes."""
    forms: set[str] = set()
    raw = secret.encode("utf-8", "surrogatepass")
    for before, undecided in ((0, 0), (1, 2), (2, 3)):
        whole = (before + len(raw)) // 3 * 4
        encoded = b64encode(b"\0" * before + raw).decode()[undecided:whole]
        forms |= {encoded, encoded.translate(str.maketrans("+/", "-_"))}
    return {form for form in forms if len(form) >= MIN_SECRET}


SINK = Redactor()
"""The process's sink: whatever loads a secret adds it here, whatever writes text out passes it through."""
