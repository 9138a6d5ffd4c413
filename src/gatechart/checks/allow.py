"""Findings that are meant to be so, each allowed at its place with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gatechart.checks.finding import ALLOWANCE_UNREASONED, ALLOWANCE_UNUSED, RULES, Finding
from gatechart.errors import suggestion


@dataclass(frozen=True, slots=True)
class Allow:
    """Leaves a finding out. An allowance that leaves out nothing, or gives no reason, is itself a finding."""

    code: str  # "GC102"
    place: str  # the finding's, "state 'WAITING'"
    reason: str


def without_allowed(findings: Sequence[Finding], allow: Sequence[Allow]) -> tuple[Finding, ...]:
    """The findings that are not allowed, then what is wrong with the allowances."""
    allowed = {(each.code, each.place) for each in allow if each.reason.strip()}
    kept = [finding for finding in findings if (finding.code, finding.place) not in allowed]
    return (*kept, *_about_allowances(findings, allow))


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
    codes = tuple(rule.code for rule in RULES)
    if unused.code not in codes:
        return f"no finding has this code: {suggestion(unused.code, codes)}"
    places = tuple(finding.place for finding in findings if finding.code == unused.code)
    return suggestion(unused.place, places) if places else "drop it"
