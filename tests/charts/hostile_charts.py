"""Chart files that try to exhaust a reader."""

from __future__ import annotations

import json

MIB = 1 << 20


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)


HOSTILE = {
    "too large": (b"id: x\n" + b"#" * MIB, "more than 1048576 bytes"),
    "too large and endless": (b"[" * (2 * MIB), "more than 1048576 bytes"),
    "deep lists": (b"a: " + b"[" * 60_000, "nested more than"),
    "deep mappings": (b"{a: " * 15_000, "nested more than"),
    "deep dashes": (b"- " * 30_000, "nested more than"),
    "deep keys": (b"? " * 30_000, "nested more than"),
    "deep indents": ("".join(f"{' ' * n}a:\n" for n in range(1000)).encode(), "nested more than"),
    "deep json": (b'{"a":' * (MIB // 5 - 4), "nested more than"),
    "alias bomb": (BOMB.encode(), "more than 20000 values"),
    "alias of itself": (b"a: &a [*a]\n", "contains itself"),
    "alias of nothing": (b"a: *b\n", "unknown anchor"),
    "many values": (b"a:\n" + b"- 1\n" * 49_000, "more than 20000 values"),
    "many json values": (b'{"a": [' + b"1," * (MIB // 2 - 9), "more than 20000 values"),
    "python tag": (b"a: !!python/object/apply:os.system [ls]\n", "tag"),
    "unknown tag": (b"a: !secret 1\n", "tag"),
    "deep and on one line": (b"a: " + b"[" * (MIB - 10), "more than 65536 characters"),
    "long tag": (b"a: !" + b"x" * 60_000, "tag"),
    "tag directives": ((b"%TAG ! " + b"x" * 60_000 + b"\n") * 17, "invalid YAML"),
    "unknown tag far down": (b"a:\n" + b"- x\n" * 19_000 + b"- !secret 1\n", "tag"),
    "binary": (bytes(range(256)), "not UTF-8"),
    "utf-16": ("id: x\n".encode("utf-16"), "not UTF-8"),
    "control characters": (b"id: x\n\x00\x01", "invalid YAML"),
    "two documents": (b"id: x\n---\nid: y\n", "second document"),
    "double key": (b"id: x\nid: y\n", "occurs twice"),
    "double json key": (b'{"id": 1, "id": 2}', "occurs twice"),
    "long text": (b"a: '" + b"x " * (MIB // 2 - 4), "more than 65536 characters"),
    "long number": (b"version: " + b"9" * 60_000, "missing"),
    "long json number": (b'{"version": ' + b"9" * (MIB - 20), "invalid JSON"),
    "list as a key": (b"? [a]\n: 1\n", "key must be a text"),
    "many blanks": (b"a: 1\n" + b"\n" * (MIB - 10), "more than 50000 lines"),
    "many words": ((b"- " + b"x " * 32_000 + b"\n") * 16 + b"- !secret 1\n", "more than 200000 words"),
    "many anchors": (b"a:\n" + b"".join(b"- &a%d x\n" % n for n in range(19_000)), "more than 1000 anchors"),
    "many targets": (
        b"id: x\nentry_points: [s0]\non: {GO: {target: ["
        + b",\n".join(b"s%d" % n for n in range(1_000))
        + b"]}}\nstates:\n"
        + b"".join(b"  s%d:\n" % n for n in range(1_000)),
        "more than 32 targets",
    ),
    "many targets of XState": (
        json.dumps(
            {
                "id": "x",
                "initial": "s0",
                "states": {"s0": {"on": {"GO": {"target": [f"s{n}" for n in range(2_000)]}}}},
            }
        ).encode(),
        "more than 32 targets",
    ),
    "many unknown targets of XState": (
        json.dumps(
            {
                "id": "x",
                "initial": "s0",
                "states": {f"s{n}": {"on": {"GO": f"q{n}"}} for n in range(2_000)},
            }
        ).encode(),
        "unknown state",
    ),
    "long delay of XState": (
        b'{"id": "x", "initial": "s0", "states": {"s0": {"after": {"' + b"9" * 600 + b'": "s0"}}}}',
        "is not a duration",
    ),
    "deep states of XState": (
        b'{"id": "x", "initial": "s", "states": ' + b'{"s": {"states": ' * 500 + b"{}" + b"}}" * 500 + b"}",
        "nested more than",
    ),
    "long delay": (b"id: x\nentry_points: [a]\nstates: {a: {after: {" + b"9" * 900 + b"d: a}}}", "is not a duration"),
    "a pattern from a payload": (
        b"id: x\nentry_points: [a]\nstates:\n  a: {on: {GO: {guard: {cel: context.x.matches(event.payload.y)}}}}",
        "not a literal text",
    ),
    "many comments": (b"# c\n" * (MIB // 4 - 4), "more than 50000 lines"),
}
