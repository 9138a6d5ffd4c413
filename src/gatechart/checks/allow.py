"""Findings that are meant to be so, parted from those that are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatechart.checks.finding import ALLOWANCE_UNREASONED, ALLOWANCE_UNUSED, Allowed, Finding, Report
from gatechart.errors import suggestion
from gatechart.graph import CODES, Allow


def parted(findings: Sequence[Finding], allow: Sequence[Allow]) -> Report:
    """The findings that are not allowed, then what is wrong with the allowances; and those that are allowed."""
    reasons = {(each.code, each.place): each.reason for each in allow if each.reason.strip()}
    kept = (finding for finding in findings if (finding.code, finding.place) not in reasons)
    allowed = (
        Allowed(finding, reasons[finding.code, finding.place])
        for finding in findings
        if (finding.code, finding.place) in reasons
    )
    return Report((*kept, *_about_allowances(findings, allow)), tuple(allowed))


def _about_allowances(findings: Sequence[Finding], allow: Sequence[Allow]) -> Iterator[Finding]:
    found = {(finding.code, finding.place) for finding in findings}
    for each in allow:
        place = f"allowance of {each.code} at {each.place}"
        if not each.reason.strip():
            yield ALLOWANCE_UNREASONED.at(
                place, "it has no reason, so it allows nothing", "say why it is meant to be so"
            )
        elif (each.code, each.place) not in found:
            yield ALLOWANCE_UNUSED.at(place, "nothing of the kind is found there", _remedy(each, findings))


def _remedy(unused: Allow, findings: Sequence[Finding]) -> str:
    if unused.code not in CODES:
        return f"no finding has this code: {suggestion(unused.code, CODES)}"
    places = tuple(finding.place for finding in findings if finding.code == unused.code)
    return suggestion(unused.place, places) if places else "drop it"
