"""How long one request may keep a server from all others: every route, with its largest bodies, valid and invalid."""

import asyncio
import json
import time
from contextlib import contextmanager

import httpx
import pytest

from gatechart import Fallbacks, Runtime, SameTarget
from gatechart.graph.handoff import MOST_FALLBACKS
from gatechart.serving import Application, Lifecycle, ServerLimits
from gatechart.serving.requests import OPERATIONS
from tests.serving.shop import graphs

LIMITS = ServerLimits()
JSON = {"content-type": "application/json"}
ROOM = 1_000  # bytes and values for the other fields
IN_PATH = {
    "agent_id": "a",
    "journal": "conversation",
    "to": "a",
    "number": 1,
    "handoff_id": "h",
    "invoke": "search",
    "name": "n",
    "id": "shop.OPEN",
}
REQUIRED = {"graph": "shop", "at": "OPEN", "event": "NOTED", "payload": {"name": "Ada"}, "trigger": "CALLED"}
ALSO = {"handoff": {"to": "shop", "at": "OPEN"}, "schedule": {"every": "1d"}, "alarm": {"graph": "shop"}}
UNIT = b"[" + b"1.5," * (LIMITS.body_values - 1) + b"1.5]"


def filled(begin, end, part, values=1):
    """A JSON text of as many parts as a body has room for. values: of each part."""
    parts, size = [], 0
    for number in range((LIMITS.body_values - ROOM) // values):
        text = part(number)
        size += len(text) + 1
        if size > LIMITS.body_bytes - ROOM:
            break
        parts.append(text)
    return f"{begin}{','.join(parts)}{end}"


def members(value, values=1):
    return filled("{", "}", lambda number: f'"k{number}":{value}', values)


def items(value, values=1):
    return filled("[", "]", lambda _: value, values)


LONG = LIMITS.body_bytes - ROOM
LARGEST = {
    "numbers": items("1"),
    "floats in place of integers": items("1.0"),
    "texts": filled("[", "]", lambda number: f'"word {number}"'),
    "objects with unknown members": items('{"x":1,"y":2}', 3),
    "fallbacks": items('{"kind":"same_target"}', 2),
    "as many fallbacks as there may be": "[" + ",".join(['{"kind":"same_target"}'] * MOST_FALLBACKS) + "]",
    "fallbacks by needs": items('{"kind":"best","selection":{"domains":["d"]}}', 5),
    "messages": items('{"role":"user","content":"hello"}', 3),
    "members": members("1"),
    "members that are objects": members("{}", 2),
    "a long text": f'"{"x" * LONG}"',
    "a long text of spaces": f'"{" " * LONG}"',
    "a long number": "1" * LONG,
    "escapes": f'"{chr(92) + "u0041"}"'[:-1] + (chr(92) + "u0041") * (LONG // 6 - 1) + '"',
    "deep arrays": "[" * (LIMITS.body_values - ROOM) + "]" * (LIMITS.body_values - ROOM),
}
WITHIN = ("fallbacks", "conversation", "weights", "samples")


def bodies_of(operation):
    """Yield the largest bodies of an operation: each field with each large value, alone and inside an object."""
    fields = operation.rest.model_fields
    needed = {name: REQUIRED.get(name, "x") for name, field in fields.items() if field.is_required()}
    needed |= ALSO.get(operation.verb, {})
    yield "unknown fields", json.dumps(needed)[:-1] + ("," if needed else "") + members("1")[1:]
    for name in fields:
        others = json.dumps({key: value for key, value in needed.items() if key != name})[1:-1]
        for kind, value in LARGEST.items():
            texts = [value, *(f'{{"{inner}":{value}}}' for inner in WITHIN if name in ("best", "packet"))]
            for text in texts:
                yield f"{name}: {kind}", f'{{"{name}":{text}{"," if others else ""}{others}}}'


@contextmanager
def steps_measured():
    """Measure the steps of the event loop, each in processor time of its thread; the list has the longest so far."""
    run, longest = asyncio.events.Handle._run, [0.0]

    def measured(handle):
        began = time.thread_time()
        try:
            return run(handle)
        finally:
            longest[0] = max(longest[0], time.thread_time() - began)

    asyncio.events.Handle._run = measured
    try:
        yield longest
    finally:
        asyncio.events.Handle._run = run


def bound_s():
    """A tenth of a second, or more on a machine that takes over 2 ms to parse as many numbers as a body may have."""
    times = []
    for _ in range(5):
        began = time.thread_time()
        json.loads(UNIT)
        times.append(time.thread_time() - began)
    return max(0.1, 50 * min(times))


@pytest.mark.long
@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.route.has_body], ids=lambda each: each.verb)
async def test_no_body_keeps_the_event_loop_from_others_for_long(operation):
    lifecycle = Lifecycle()
    transport = httpx.ASGITransport(Application(lifecycle, graphs))
    path, bound, statuses = operation.route.path.format(**IN_PATH), bound_s(), set()
    async with (
        Runtime.open("memory:", graphs=graphs) as runtime,
        lifecycle.hosting(runtime),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http,
    ):
        await runtime.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
        for label, body in bodies_of(operation):
            assert len(body) <= LIMITS.body_bytes, label
            request = http.build_request(operation.route.method, path, content=body.encode(), headers=JSON)
            with steps_measured() as longest:
                answer = await asyncio.create_task(http.send(request))
            assert longest[0] < bound, f"{label}: {longest[0]:.3f} s, {answer.text[:100]}"
            assert answer.status_code < 500, f"{label}: {answer.text[:200]}"
            statuses.add(answer.status_code)
        lifecycle.stop()
    assert statuses & {200, 201, 202, 404, 422}


def test_a_handoff_has_a_bounded_number_of_fallbacks():
    with pytest.raises(ValueError, match="1,001 fallbacks are too many; give 1,000 or fewer"):
        Fallbacks(*[SameTarget()] * (MOST_FALLBACKS + 1))
