"""Which modules and tests a rule of the specification and an entry of the field reports belong to: read from the sources, so that it cannot
be wrong for long. `python -m tests.spec.table` writes `tests/README.md`; `test_table.py` says when that is due. Judges nothing else."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
README = ROOT / "tests" / "README.md"
ROOMS = ("engine", "store", "console")
SHOWN = 3
"""So many tests are named in a row, those of the rules first: a row must not change whenever somebody tests something near it."""

MEANINGS = "console/view/rules.py"
"""Explains every rule and decides by none."""

ENTRY = re.compile(r"\b[A-M][0-9]{2}\b")


@dataclass(frozen=True, slots=True)
class Slug:
    """kind: a `decision` is carried by what it decided, an `invariant` holds for everything."""

    slug: str
    kind: str
    section: str


@dataclass(frozen=True, slots=True)
class Report:
    """kind: `covered` by a test, or `later`, and why."""

    entry: str
    tags: tuple[str, ...]
    kind: str
    reason: str = ""


@dataclass(slots=True)
class Row:
    """modules: that name it, and of these `carrying` hold it as a value. tests: written by hand. cases: recorded ones."""

    modules: list[str] = field(default_factory=list)
    carrying: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    cases: int = 0


def slugs() -> list[Slug]:
    return [Slug(**row) for row in json.loads((HERE / "slugs.json").read_text())]


def reports() -> list[Report]:
    rows = json.loads((HERE / "field_reports.json").read_text())
    return [Report(row["entry"], tuple(row["tags"]), row["kind"], row.get("reason", "")) for row in rows]


@cache
def slug_rows() -> Mapping[str, Row]:
    """Slug -> where it is named."""
    known = [s.slug for s in slugs()]
    rows = {slug: Row() for slug in known}
    in_text = re.compile("|".join(re.escape(s) for s in sorted(known, key=len, reverse=True)))
    as_name = {s.replace(".", "_").replace("-", "_"): s for s in known}
    # The longest first, so that `order_stored_profiles` does not count for `order.stored`.
    in_name = re.compile("(?<![a-z])(?:" + "|".join(sorted(as_name, key=len, reverse=True)) + ")(?![a-z])")
    for path, text in _sources(*ROOMS):
        for slug in sorted(set(in_text.findall(text))):
            rows[slug].modules.append(path)
            if slug in _values(path):
                rows[slug].carrying.append(path)
    for test, name, text in _tests():
        named = set(in_text.findall(text)) | {as_name[found] for found in in_name.findall(name)}
        for slug in named:
            rows[slug].tests.append(test)
    for line in (ROOT / "tests" / "vectors" / "scenarios.jsonl").read_text(encoding="utf-8").splitlines():
        for slug in json.loads(line)["rules"]:
            rows[slug].cases += 1
    return rows


@cache
def report_rows() -> Mapping[str, list[str]]:
    """Entry -> the tests that name it."""
    rows: dict[str, list[str]] = {report.entry: [] for report in reports()}
    for test, _, text in _tests():
        for entry in sorted(set(ENTRY.findall(text)) & set(rows)):
            rows[entry].append(test)
    for path, text in _sources("tests"):
        if Path(path).name.startswith("test_") and not path.startswith("tests/spec/"):
            # Named by the description of the whole file.
            for entry in sorted(set(ENTRY.findall(ast.get_docstring(ast.parse(text)) or "")) & set(rows)):
                rows[entry].append(path)
    return rows


def _sources(*rooms: str) -> Iterator[tuple[str, str]]:
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


@cache
def _values(path: str) -> frozenset[str]:
    """The strings of a module that are values, not descriptions."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    return frozenset(node.value for node in found if isinstance(node.value, str))


@cache
def _tests() -> tuple[tuple[str, str, str], ...]:
    """(`path::name`, name, source with decorators) of every test function."""
    found: list[tuple[str, str, str]] = []
    for path, text in _sources("tests"):
        if not Path(path).name.startswith("test_") or path.startswith("tests/spec/"):
            continue
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                found.append((f"{path}::{node.name}", node.name, "\n".join(lines[first - 1 : node.end_lineno])))
    return tuple(found)


def readme() -> str:
    """What `tests/README.md` must hold."""
    lines = [HEAD]
    lines += ["| slug | section | kind | modules | tests | recorded cases |", "|---|---|---|---|---|---|"]
    for slug in slugs():
        row = slug_rows()[slug.slug]
        modules = [m for m in row.carrying if m != MEANINGS] if slug.kind == "decision" else row.modules
        lines.append(f"| `{slug.slug}` | {slug.section} | {slug.kind} | {_list(modules)} | {_list(row.tests)} | {row.cases or ''} |")
    lines += ["", FIELD_HEAD, "| entry | about | tests |", "|---|---|---|"]
    for report in reports():
        tests = report_rows()[report.entry]
        told = _list(tests) if report.kind == "covered" else f"later: {report.reason}"
        lines.append(f"| {report.entry} | {', '.join(report.tags)} | {told} |")
    return "\n".join(lines) + "\n"


def _list(names: list[str]) -> str:
    first = sorted(names, key=lambda name: not name.startswith("tests/policy/"))
    shown = ", ".join(f"`{name.removeprefix('tests/')}`" for name in first[:SHOWN])
    return shown + (", …" if len(names) > SHOWN else "")


HEAD = """\
# What the tests prove

Written by `python -m tests.spec.table`; `tests/spec/test_table.py` says when it is not current.

| to run | |
|---|---|
| everything | `.venv/bin/python -m pytest` |
| the recorded cases | `.venv/bin/python -m pytest tests/test_vectors.py` |
| 100,000 random turns, as CI does | `WORLDS=125 .venv/bin/python -m pytest tests/worlds/test_random_worlds.py` |
| a million, by hand | `WORLDS=1250 .venv/bin/python -m pytest tests/worlds/test_random_worlds.py` |
| what decisions cost | `.venv/bin/python -m tests.bench.policy` |

## Rules

Every slug of the failover specification: the modules that carry it as a value (decisions) or name it (invariants), the tests written by
hand that name it, and how many recorded cases in `tests/vectors` do.
"""

FIELD_HEAD = """\
## Field reports

What went wrong for others, and the test that it does not here. `later`: of a part that is not built yet.
"""

if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
