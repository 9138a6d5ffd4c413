"""A player as an XState machine, and the functions that it names."""

from __future__ import annotations

MACHINE = {
    "id": "player",
    "context": {"count": 0, "song": None},
    "initial": "off",
    "states": {
        "off": {"on": {"POWER": {"target": "on.hist"}}, "meta": {"x": 1}, "tags": ["dark"]},
        "on": {
            "initial": "idle",
            "entry": [{"type": "add", "params": {"amount": 10}}],
            "exit": "leave",
            "on": {
                "POWER": "off",
                "SELF": "#player.on",
                "AGAIN": {"target": "#player.on", "reenter": True},
                "INSIDE": {"target": ".busy"},
                "error.*": {"target": ".broken", "description": "Any error."},
                "*": {"actions": ["count"]},
            },
            "invoke": {
                "src": "search",
                "id": "find",
                "input": {"depth": 2},
                "onDone": {"target": ".busy", "guard": {"type": "is_below", "params": {"limit": 100}}},
                "onError": ".broken",
            },
            "after": {"1000": ".busy", "later": {"target": "off"}},
            "states": {
                "idle": {"on": {"GO": [{"target": "busy", "guard": "never"}, {"target": "busy", "guard": "is_big"}]}},
                "busy": {"always": {"target": "done", "guard": "never"}},
                "broken": {},
                "done": {"type": "final", "output": {"result": 1}},
                "hist": {"type": "history"},
            },
            "onDone": "off",
        },
    },
}


class Deps:
    later = 60_000

    def add(self, context, event, amount):
        context.count += amount

    def count(self, context, event):
        context.count += 1

    def leave(self, context, event):
        context.count += 1000

    def search(self, context, work, depth):
        return depth

    def is_below(self, context, event, limit):
        return context.count < limit

    def is_big(self, context, event):
        return event.payload.get("big", False)

    def never(self, context, event):
        return False
