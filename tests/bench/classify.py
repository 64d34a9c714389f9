"""CPU per classification, by hand: `python tests/bench/classify.py`. The budget: 100 us for a body of 1 KB, 5 ms for 1 MB."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from engine.domain.failure import Failure
from engine.policy.classify import classify

KB, MB = 1_000, 1_000_000


def cases() -> Iterator[tuple[str, Failure]]:
    prose = "The service could not process the request because the upstream model returned something that nobody expected. "
    limit = "Rate limit reached for gpt-5 in organization org-Ab1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 3000. "
    for name, size in (("1 KB", KB), ("1 MB", MB)):
        for label, text in (
            ("prose", prose),
            ("limit", limit),
            ("model", "model "),
            ("quotes", "'model` \""),
            ("braces", "{["),
            ("chinese", "该模型当前不可用，请联系客服。"),
        ):
            words = (text * (size // len(text) + 1))[: size - 60]
            yield f"{name} JSON {label}", Failure(status=500, body=json.dumps({"error": {"message": words, "type": "x", "code": None}}))
            yield f"{name} text {label}", Failure(message=words)
        echo = [
            {"loc": ["body", i], "msg": "Input should be a valid string", "type": "string_type", "input": prose} for i in range(size // 200)
        ]
        yield f"{name} validation list", Failure(status=422, body=json.dumps({"detail": echo}))
        yield f"{name} HTML", Failure(status=502, body="<!doctype html><title>502</title>" + "<p>x</p>" * (size // 8))
        yield f"{name} HTML unclosed", Failure(body="<!doctype html>" + "<script>" * (size // 8))
        yield f"{name} deep", Failure(status=500, body='{"a":' * (size // 5))
        yield f"{name} deep lists", Failure(status=500, body="[" * size)
        yield f"{name} numbers", Failure(status=500, body="[" + "1," * (size // 2 - 2) + "1]")
        yield f"{name} numbers within", Failure(status=500, body='{"error":{"x":[' + "1," * (size // 2 - 20) + "1]}}")
        yield f"{name} events", Failure(body="data: {}\n" * (size // 9))
        yield f"{name} repr", Failure(message="Error code: 400 - {'error': {'message': '" + (prose * (size // 110 + 1))[:size] + "'}}")
        yield f"{name} spaces", Failure(message=" " * size + "x")
        yield f"{name} digits", Failure(message="429," * (size // 4))


def main() -> None:
    for name, failure in cases():
        rounds = 300 if name.startswith("1 KB") else 5
        classify(failure, "openai")
        began = time.process_time()
        for _ in range(rounds):
            classify(failure, "openai")
        spent = (time.process_time() - began) / rounds
        budget = 100e-6 if name.startswith("1 KB") else 5e-3
        print(f"{name:24} {spent * 1e6:10.1f} us {'' if spent <= budget else '  OVER'}")


if __name__ == "__main__":
    main()
