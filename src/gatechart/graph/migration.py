"""The migration of stored agents between versions of their graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gatechart.errors.definition import Fault
from gatechart.errors.root import listing
from gatechart.graph.callables import callable_name, fits, is_async
from gatechart.values.migrations import Stored


@dataclass(frozen=True)
class Migration:
    """One step from a version of a graph to another: a pure function of an agent's stored state."""

    before: str  # version before the step
    after: str  # version after the step
    function: Callable[[Stored], Stored]


def way(migrations: Iterable[Migration], before: str, after: str) -> Sequence[Migration] | None:
    """Return the shortest sequence of migrations from one version to another; None if there is none.

    >>> steps = [Migration(a, b, lambda stored: stored) for a, b in ("12", "23", "13", "34")]
    >>> [(step.before, step.after) for step in way(steps, "1", "4")], way(steps, "4", "1")
    ([('1', '3'), ('3', '4')], None)
    """
    paths: dict[str, tuple[Migration, ...]] = {before: ()}
    reached = [before]
    steps = tuple(migrations)
    for version in reached:
        for step in steps:
            if step.before == version and step.after not in paths:
                paths[step.after] = (*paths[version], step)
                reached.append(step.after)
    return paths.get(after)


def migration_faults(migrations: Sequence[Any], version: object) -> Iterator[Fault]:
    """Yield the faults of a graph's migrations. Paths and duplicates are checked only if each migration is valid."""
    invalid = [fault for migration in migrations for fault in _misfits(migration)]
    yield from invalid
    if invalid or not isinstance(version, str):
        return
    pairs = Counter((migration.before, migration.after) for migration in migrations)
    for (before, after), count in pairs.items():
        place = _place(before, after)
        if count > 1:
            yield Fault(place, "there are two of them", "drop one; which of them to take could not be told")
        if before == version:
            yield Fault(place, f"it leads away from {version!r}, the graph's own version", "drop it")
        elif way(migrations, after, version) is None:
            useful = (migration for migration in migrations if way(migrations, migration.after, version) is not None)
            ends = tuple(dict.fromkeys(migration.before for migration in useful))
            remedy = f"let it lead to {listing((version, *ends))}, or add a migration that goes on from {after!r}"
            yield Fault(place, f"from {after!r} no migration leads to {version!r}, the graph's version", remedy)


def _misfits(migration: Any) -> Iterator[Fault]:
    """Yield the faults of a single migration."""
    if not isinstance(migration, Migration):
        yield Fault("migrations", f"{migration!r} is not a migration", "pass Migration(before, after, function)")
        return
    before, after, function = migration.before, migration.after, migration.function
    place = _place(before, after)
    for text in (before, after):
        if not isinstance(text, str) or not text:
            yield Fault(place, f"{text!r} is not a version", "use a text that is not empty")
    if before == after:
        yield Fault(place, "it leads nowhere", "let it lead to another version")
    if not callable(function):
        yield Fault(place, f"{function!r} cannot be called", "pass a function of (stored)")
    elif is_async(function):
        yield Fault(place, f"{callable_name(function)} is async", "pass a plain function: it asks nobody else")
    elif not fits(function, 1):
        yield Fault(place, f"{callable_name(function)} does not take (stored)", "give it one parameter")


def _place(before: object, after: object) -> str:
    return f"migration {before!r} to {after!r}"
