"""Machines in the shape in which XState's `createMachine` takes them and Stately's editor exports them."""

from __future__ import annotations

ORDER = {
    "id": "order",
    "description": "From the cart to the door.",
    "version": "2.1.0",
    "context": {"items": [], "tries": 0, "seen": []},
    "types": {"events": {}, "context": {}},
    "initial": "cart",
    "tags": [],
    "meta": {"@statelyai.color": "blue"},
    "states": {
        "cart": {
            "description": "The customer looks around.",
            "on": {
                "Item added": {"actions": {"type": "see", "params": {"what": "item"}}},
                "Item": {"actions": [{"type": "see", "params": {"what": "other"}}]},
                "checkout.start": [
                    {"target": "paying", "guard": {"type": "hasItems", "params": {"atLeast": 1}}, "meta": {}},
                    {"actions": [], "description": "Nothing to pay."},
                ],
            },
        },
        "paying": {
            "id": "payment",
            "tags": ["busy"],
            "initial": "asking",
            "entry": [{"type": "count"}],
            "invoke": [
                {"src": "watch", "systemId": "watcher", "input": {"depth": 1}},
                {
                    "id": "charge",
                    "src": "charge",
                    "input": {},
                    "onDone": [{"target": "packing", "guard": "isPaid"}, {"target": "#payment.failed"}],
                    "onError": {"target": ".failed", "reenter": False},
                },
            ],
            "after": {"30000": {"target": ".failed"}, "patience": ".failed"},
            "states": {
                "asking": {"on": {"bank.*": "waiting"}},
                "waiting": {"always": [{"target": "failed", "guard": "isHopeless"}]},
                "failed": {"on": {"again": {"target": "#payment", "reenter": True}}},
                "past": {"history": "deep"},
            },
            "on": {"cancel": {"target": "cart"}, "*": {"actions": {"type": "see", "params": {"what": "any"}}}},
        },
        "packing": {
            "type": "parallel",
            "states": {
                "goods": {
                    "initial": "open",
                    "states": {"open": {"on": {"packed": "shut"}}, "shut": {"type": "final"}},
                    "onDone": {"actions": "count"},
                },
                "papers": {
                    "initial": "open",
                    "states": {
                        "open": {"on": {"printed": "shut"}},
                        "shut": {"type": "final", "output": {"type": "A4"}},
                    },
                },
            },
            "on": {"start over": {"target": [".goods.open", ".papers.open"]}},
            "onDone": {"target": "delivered"},
        },
        "delivered": {"type": "final", "output": {"ok": True}},
    },
}

UPLOADS = {
    "id": "uploads",
    "type": "parallel",
    "context": None,
    "states": {
        "first": {
            "initial": "loading",
            "states": {
                "loading": {"invoke": {"src": "upload", "onDone": {"target": "done"}, "onError": {"target": "lost"}}},
                "lost": {"on": {"retry": {"target": "loading"}, "skip": {"target": None}, "stop": None}},
                "done": {"type": "final"},
                "past": {"history": True},
            },
        },
        "second": {
            "initial": "loading",
            "states": {
                "loading": {"invoke": {"src": "upload", "onDone": {"target": "done"}}, "entry": None, "exit": None},
                "done": {"type": "final"},
            },
            "on": {"xstate.error.actor.0.uploads.second.loading": ".done", "both": "#uploads.first.lost"},
        },
    },
}
