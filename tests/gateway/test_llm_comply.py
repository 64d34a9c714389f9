"""`llm-comply` (PyPI) scores an API by its specification: each dialect of the gateway, with each family behind it, against what the fake
provider of that dialect gets by itself (issue 4, "Must show" 2). What differs, and what fails either way, is named with its reason."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from tests.fakes.families import FAMILIES
from tests.gateway.family_house import NAMES, STRICT, family_house

FORMATS = {
    "openai-completions": ("openai-chat", "gpt-5"),
    "openai-responses": ("open-responses", "gpt-5"),
    "anthropic-messages": ("anthropic", "claude-opus-4-8"),
}
"""Dialect -> llm-comply's name for it, and a model for which it skips no case."""

PASSED = {"openai-completions": 7, "openai-responses": 12, "anthropic-messages": 9}
"""What the fake gets by itself: a change of llm-comply or of the fake shows here."""

FAIL_EITHER_WAY = {
    "chat-error-handling": "names no model: that is `auto` for the gateway, as specified; the fake has one model, as local servers do",
    "error-handling": "the same for responses",
    "chat-reasoning-summary": "sends `reasoning`, which is of the Responses API; OpenAI's chat completions refuse it, and so does the fake",
}
DIFFERS = {
    "chat-reasoning-summary": "to another family it is converted, and passes",
    "anth-error-handling": "names no `max_tokens`, which only Anthropic asks for: others answer, with a warning of llm-comply",
}
"""Across dialects: what comes out otherwise than from the fake itself. All of it is more than the fake gets, or as much."""

STRICTLY = ",".join(f"{name}:{value}" for name, value in STRICT.items())
ITS_OWN = "response.reasoning_summary_text"
"""Events that OpenAI sends and that stand in llm-comply's own copy of the specification, but not in its list of them."""

Results = dict[str, tuple[str, bool]]
"""Case -> passed, failed or skipped; with a warning."""


async def results(dialect: str, url: str, model: str) -> Results:
    form = FORMATS[dialect][0]
    options = (
        "--base-url",
        url,
        "--api-key",
        "none-of-yours",
        "--model",
        model,
        "--format",
        form,
        "--ignore",
        ITS_OWN,
        "--header",
        STRICTLY,
    )
    ran = await asyncio.create_subprocess_exec(sys.executable, "-m", "llm_comply.cli", "--json", *options, stdout=asyncio.subprocess.PIPE)
    out, _ = await ran.communicate()
    return {result["id"]: (result["status"], "warnings" in result) for result in json.loads(out)["results"]}


def with_status(found: Results, status: str) -> set[str]:
    return {case for case, (said, _) in found.items() if said == status}


@pytest.mark.parametrize("dialect", FORMATS)
async def test_llm_comply_scores_the_gateway_as_high_as_the_provider_itself(dialect: str) -> None:
    model = FORMATS[dialect][1]
    async with family_house() as house:
        direct = await results(dialect, house.providers[dialect].base_url, model)
        assert len(with_status(direct, "passed")) == PASSED[dialect]
        assert with_status(direct, "skipped") == set()
        for family in FAMILIES:
            through = await results(dialect, f"{house.gateway.base_url}/v1", f"{NAMES[family]}/{model}")
            assert with_status(through, "passed") >= with_status(direct, "passed"), family
            assert with_status(through, "failed") <= FAIL_EITHER_WAY.keys(), family
            different = {case for case in direct if through[case] != direct[case]}
            assert different <= (DIFFERS.keys() if family != dialect else set()), family
