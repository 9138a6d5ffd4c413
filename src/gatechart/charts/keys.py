"""The keys that each part of a chart may have, each with the kind of its value (see `schema`)."""

from __future__ import annotations

from typing import Final

_WAITING: Final = {
    "on": "on",
    "always": "transitions",
    "after": "after",
    "invoke": "invokes",
    "onDone": "transitions",
}
_STATE: Final = {
    "id": "text",
    "type": "type",
    "description": "text",
    "initial": "initial",
    "states": "states",
    "entry": "actions",
    "exit": "actions",
    **_WAITING,
    "history": "history",
    "target": "targets",
    "actions": "actions",
    "data": "data",
    "failed": "flag",
}
_CHART: Final = {
    "$schema": "text",
    "id": "text",
    "dialect": "dialect",
    "version": "label",
    "description": "text",
    "context": "context",
    "entry_points": "entry_points",
    "on_refusal": "on_refusal",
    "max_microsteps": "count",
    "allow": "allowances",
    "accepts": "accepts",
    "initial": "initial",
    "states": "states",
    "on": "on",
    "always": "transitions",
}
_TRANSITION: Final = {
    "target": "targets",
    "guard": "guard",
    "actions": "actions",
    "internal": "flag",
    "description": "text",
}
_INVOKE: Final = {
    "src": "function",
    "id": "text",
    "params": "values",
    "timeout_s": "number",
    "retry": "retry",
    "onDone": "transitions",
    "onError": "transitions",
}
_OF_AN_AGENT: Final = {"agent": "name", "at": "name", "packet": "function", "fallbacks": "fallbacks"}
_HANDOFF: Final = {
    "handoff": {
        "to": "name",
        "at": "name",
        "mode": "mode",
        "reason": "handoff_reason",
        "deadline": "delay",
        "fallbacks": "fallbacks",
        "packet": "function",
        "agent": "function",
        "achieved": "function",
    },
    "handing_on": {"handoff": "handoff"},
    "fallback": {"same_target": "retry", "other_graph": "name", "human": "name", "at": "name", "agent": "text"},
}
"""What XState has nothing like."""

_SHARED: Final = {
    "accepts": {"capacity": "whole", "policy": "function"},
    "initial": {"target": "targets", "actions": "actions"},
    "reference": {"type": "text", "params": "values"},
    "retry": {"attempts": "count", "first_s": "number", "factor": "factor", "most_s": "number"},
    "cel": {"cel": "text"},
    "except": {"except": "texts", "guard": "guard"},
    "allowance": {"code": "code", "place": "text", "reason": "text"},
    "entry_point": {
        "state": "text",
        "name": "text",
        "opens_on": "texts",
        "takes": "text",
        "maps": "maps",
        "guard": "guard",
        "description": "text",
    },
}
_IGNORED: Final = {"meta": "anything", "tags": "anything"}  # XState's, without a meaning here
_XSTATE_TRANSITION: Final = {
    "target": "targets",
    "guard": "guard",
    "actions": "actions",
    "reenter": "flag",
    "description": "text",
    **_IGNORED,
}
_XSTATE_STATE: Final = {key: kind for key, kind in _STATE.items() if key != "failed"} | {
    "output": "output",
    "meta": "meta",
    "tags": "anything",
}

KEYS: Final = {
    "scxml": {
        "chart": _CHART,
        "state": {**_STATE, "final": "flag"},
        "transition": _TRANSITION,
        "listed": {"event": "event", **_TRANSITION},
        "then": {key: kind for key, kind in _TRANSITION.items() if key != "description"},
        "invoke": {**_INVOKE, **_OF_AN_AGENT},
        **_SHARED,
        **_HANDOFF,
    },
    "xstate": {
        "chart": {
            **_CHART,
            **_XSTATE_STATE,
            **dict.fromkeys(("types", "schemas", "tsTypes", "predictableActionArguments"), "anything"),
        },
        "state": _XSTATE_STATE,
        "transition": _XSTATE_TRANSITION,
        "listed": {"event": "event", **_XSTATE_TRANSITION},
        "then": _XSTATE_TRANSITION,
        "invoke": {**_INVOKE, "input": "values", "systemId": "anything"},
        "own": {"failed": "flag"},  # under `meta.gatechart` of a state
        **_SHARED,
    },
}

MEANINGS: Final = {
    "id": "The graph's name; of a state, what #id targets name it by.",
    "dialect": "Whose meanings hold: SCXML's as in code, or XState's, version 5.",
    "version": "The graph's version; a number counts as it is written.",
    "context": "The name of a bound type, or initial values.",
    "entry_points": "The states in which an agent may begin.",
    "on_refusal": "Whether an event that is refused returns an outcome or raises an error.",
    "max_microsteps": "How many transitions one turn may take.",
    "allow": "Findings of `gatechart check` that are meant to be so.",
    "accepts": "Which handoffs agents of the graph take: how many at once, and by what policy.",
    "capacity": "How many handoffs its agents have at once.",
    "policy": "The name of a bound function of the packet: true, false, or a text that says why not.",
    "handoff": "Offers the work to another agent.",
    "to": "The graph that takes it.",
    "at": "The entry point of the graph.",
    "mode": "transfer gives the work away, delegate waits for its result.",
    "deadline": "For the acceptance of a transfer, for the result of a delegation: 500ms, 30s, 2m, 1h, 7d.",
    "fallbacks": "What to try when the offer is rejected, in this order.",
    "packet": "The name of a bound function of context and event that makes the packet.",
    "achieved": "The name of a bound function of context and event that says what was done, which allows a way back.",
    "agent": "In an invoke a graph, whose new agent works meanwhile; elsewhere what tells a living agent's id.",
    "same_target": "Offers to the same target again, a while later.",
    "other_graph": "Offers to another graph.",
    "human": "Offers to a graph that stands for people.",
    "retry": "How often it is tried where it fails; once where left out.",
    "attempts": "How many there are, the first one too.",
    "first_s": "Seconds to wait after the first that failed.",
    "factor": "By which each wait is longer than the one before.",
    "most_s": "Seconds that are waited at most.",
    "code": "The code of the finding, GC102.",
    "place": "Where the finding is, as the check tells it: state 'WAITING'.",
    "reason": "Why it is meant to be so; of a handoff, why the work is handed on.",
    "initial": "The state entered first; the first one where left out.",
    "states": "The states inside, by name.",
    "type": "What the state is made of.",
    "final": "Whether the state ends the agent, once the states inside it have come to an end.",
    "entry": "Actions done when the state is entered.",
    "exit": "Actions done when the state is left.",
    "on": "Transitions by event, or a list in which each names its event.",
    "always": "Transitions without an event.",
    "after": "Transitions by delay: 500ms, 30s, 2m, 1h, 7d; a bare number is seconds, in XState milliseconds.",
    "invoke": "Functions that run while the state is active.",
    "onDone": "Transitions taken at the end of the state, or of what it invoked.",
    "onError": "Transitions taken when what was invoked fails.",
    "history": "How deep a history state remembers.",
    "target": "A state: #id, .child, a sibling, sibling.child, or any state's name.",
    "guard": "The name of a bound function, or {cel: an expression over context and event}.",
    "actions": "Names of bound functions.",
    "internal": "Whether the source stays, where the target lies inside it.",
    "reenter": "Whether the source is left and entered again.",
    "failed": "Whether an agent that ends in this final state, at the top level, has failed.",
    "data": "What a final state hands on: the name of a bound function, or {value: ...}.",
    "src": "The name of a bound function of context and work.",
    "timeout_s": "Seconds after which what was invoked has failed.",
    "params": "Values that the function is given by name.",
    "opens_on": "Business triggers.",
    "takes": "The name of a bound type: the payload's schema.",
    "maps": "Fields of the payload with the context's fields that they fill, or the name of a bound function.",
    "cel": "An expression of the Common Expression Language.",
    "except": "Events that the guard says no to.",
}
