"""The law that no committed configuration is illegal, kept an eye on by every test.

Whatever is committed, in whichever home, is a `TurnRecord` first. So each that is made is held against the definition
of its graph, by the tests' own account of what is legal. Production pays nothing for it.
"""

from __future__ import annotations

from functools import wraps
from weakref import WeakValueDictionary

from gatechart.graph.graph import StateTransitionGraph
from gatechart.values.commits import TurnRecord

from .laws.oracle import faults_of

_graphs: WeakValueDictionary[str, StateTransitionGraph] = WeakValueDictionary()  # by fingerprint
_known: set[tuple[str, tuple[str, ...]]] = set()  # what was looked at already
_found: list[str] = []


def watch() -> None:
    """Looks at every graph and every record that is made from now on."""
    _after(StateTransitionGraph, lambda graph: _graphs.__setitem__(graph.fingerprint, graph))
    _after(TurnRecord, _look)


def found() -> list[str]:
    """What was illegal since this was asked last."""
    told = _found[:]
    _found.clear()
    return told


def _after(kind, look):
    make = kind.__init__

    @wraps(make)
    def made(self, *args, **kwargs):
        make(self, *args, **kwargs)
        look(self)

    kind.__init__ = made


def _look(record: TurnRecord) -> None:
    after = record.snapshot
    graph = _graphs.get(after.fingerprint)
    key = (after.fingerprint, after.configuration)
    if graph is None or key in _known:  # made up by a test of a store, or known to be legal
        return
    faults = faults_of(graph.tree, after.configuration)
    if faults:
        _found.append(f"{after.agent_id} of {graph.name!r} in {after.configuration}: {'; '.join(faults)}")
    else:
        _known.add(key)
