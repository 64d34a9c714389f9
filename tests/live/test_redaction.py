"""The sink: a loaded secret is masked in every form in which text may hold it, and ordinary words are left alone."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.redaction import MASK, Redactor

SECRET = 'p@ss/w+rd "x" ünï\\1\n2'


def masking(*secrets: str) -> Redactor:
    redactor = Redactor()
    for secret in secrets:
        redactor.add(secret)
    return redactor


FORMS = {
    "plain": SECRET,
    "url": quote(SECRET, safe=""),
    "url with slashes": quote(SECRET),
    "form": quote_plus(SECRET),
    "lower-case url": quote(SECRET, safe="").lower().replace("ünï", "ünï"),
    "json": json.dumps(SECRET),
    "json with unicode": json.dumps(SECRET, ensure_ascii=False),
    "json in json": json.dumps({"body": json.dumps({"key": SECRET})}),
    "repr": repr(SECRET),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_secret_is_masked_in_each_of_its_text_forms(form: str):
    masked = masking(SECRET).mask(f"upstream said {form} to us")
    assert MASK in masked
    assert "ss/w" not in masked
    assert "rd" not in masked.replace("upstream said", "")


@given(
    st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60), st.text(max_size=7), st.text(max_size=9)
)
def test_a_secret_is_masked_in_base64_wherever_it_begins(secret: str, user: str, rest: str):
    redactor = masking(secret)
    for encode in (b64encode, urlsafe_b64encode):
        whole = encode(f"{user}:{secret}{rest}".encode("utf-8", "surrogatepass")).decode()
        assert redactor.mask(f"Basic: {whole}.").count(MASK) >= 1
        assert encode(secret.encode())[4:-6].decode() not in redactor.mask(whole)


@given(st.lists(st.text(min_size=6, max_size=40), min_size=1, max_size=8), st.data())
def test_no_loaded_secret_survives_in_any_text(secrets: list[str], data: st.DataObject):
    redactor = masking(*secrets)
    parts = data.draw(st.lists(st.one_of(st.sampled_from(secrets), st.text(max_size=12)), max_size=8))
    masked = redactor.mask("|".join(parts))
    # A mask may complete another "secret" only out of asterisks.
    assert not [s for s in secrets if s in masked and set(s) - set("*|")]


def test_ordinary_text_comes_back_as_it_is():
    redactor = masking("sk-ant-api03-abcdefghijklmnop")
    for text in (
        "Rate limit reached for gpt-5.5 in organization org-1 on tokens per min: Limit 30000, try again in 20s",
        "the api key is missing; set x-api-key: required",
        "task-management-interface and risk-adjusted-something",
        "acme/big",
        "",
    ):
        assert redactor.mask(text) is text or redactor.mask(text) == text


@pytest.mark.parametrize(
    "shape",
    [
        "sk-ant-api03-AAAAbbbb1111cccc2222",
        "sk-proj-abcdefghij1234567890",
        "AIzaSyA1234567890abcdefghijklmnopqrstuvw",
        "gsk_abcdefghij1234567890abcd",
        "ghp_abcdefghij1234567890abcdefghij123456",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----",
    ],
)
def test_common_shapes_of_keys_are_masked_though_nobody_loaded_them(shape: str):
    masked = Redactor().mask(f"Incorrect API key provided: {shape}. See docs.")
    assert shape not in masked
    assert masked.startswith("Incorrect API key provided: ")


@pytest.mark.parametrize("label", ["Authorization: Bearer ", "authorization: basic ", '"api_key": "', "x-api-key=", "refresh_token="])
def test_what_a_label_names_is_masked_and_the_label_stays(label: str):
    assert Redactor().mask(f"{label}abc123def456") == f"{label}{MASK}"


def test_credentials_in_an_address_are_masked():
    assert Redactor().mask("http://ann:hunter2@proxy:3128/x") == f"http://{MASK}@proxy:3128/x"


def test_a_value_too_short_to_be_a_secret_blanks_no_words():
    assert masking("x", "local").mask("local x") == "local x"


def test_mask_json_reaches_every_string_and_leaves_the_value_alone():
    value = {"a": ["sk-very-secret", 1, None, {"sk-very-secret": True}], "b": ("x", "sk-very-secret")}
    assert masking("sk-very-secret").mask_json(value) == {"a": [MASK, 1, None, {MASK: True}], "b": ["x", MASK]}
    assert value["a"][0] == "sk-very-secret"


def test_half_a_character_in_a_secret_breaks_nothing():
    assert masking("secret\ud800value").mask("a secret\ud800value b") == f"a {MASK} b"
