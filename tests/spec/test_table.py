"""No rule without a test, no decision without its rule, no field report forgotten, and the table says so."""

from __future__ import annotations

import pytest

from tests.spec import table

SLUGS = table.slugs()
REPORTS = table.reports()


def test_the_copy_of_the_list_is_whole():
    assert len({s.slug for s in SLUGS}) == len(SLUGS) == 84
    assert {s.kind for s in SLUGS} == {"decision", "invariant"}
    assert len({r.entry for r in REPORTS}) == len(REPORTS)
    assert {r.kind for r in REPORTS} <= {"covered", "later"}


@pytest.mark.parametrize("slug", [s.slug for s in SLUGS])
def test_a_rule_is_named_by_a_test_written_by_hand_and_by_a_module(slug: str):
    row = table.slug_rows()[slug]
    assert row.tests, f"{slug}: no test names it ({row.cases} recorded cases do)"
    assert row.modules, f"{slug}: no module names it"


@pytest.mark.parametrize("slug", [s.slug for s in SLUGS if s.kind == "decision"])
def test_a_decision_carries_its_rule(slug: str):
    carrying = [module for module in table.slug_rows()[slug].carrying if module.startswith("engine/")]
    assert carrying, f"{slug}: nothing that is decided carries it"


@pytest.mark.parametrize("report", REPORTS, ids=[r.entry for r in REPORTS])
def test_a_field_report_has_a_test_or_a_reason_why_not_yet(report: table.Report):
    if report.kind == "later":
        assert report.reason
    else:
        assert table.report_rows()[report.entry], f"{report.entry}: no test names it"


def test_the_readme_is_current():
    assert table.README.read_text(encoding="utf-8") == table.readme(), "write it anew: python -m tests.spec.table"
