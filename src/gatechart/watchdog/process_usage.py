"""What this process and its children use, for their host's sign of life: by psutil, if that is installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Final

from gatechart.values.names import Payload

_BUSY: Final = 0.9  # processors in use from which on a process counts as busy


def usage_of(work: Callable[[], int]) -> Callable[[], Payload]:
    """Return a function that measures what was used since it was called last; empty without psutil.

    work: how much was committed so far. Of the network, the bytes of the whole machine are told, because systems do not
    count those of a process.
    """
    try:
        import psutil  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  the extra `watch`
    except ModuleNotFoundError:
        return dict
    return _Meter(psutil, work).measure


class _Meter:
    def __init__(self, psutil: Any, work: Callable[[], int]) -> None:
        self._psutil = psutil
        self._work = work
        self._process = psutil.Process(os.getpid())
        self._at, self._cpu_s, self._done = monotonic(), self._cpu(self._family()), work()
        self._idle_since = self._at  # when it was last idle, or got on
        self._net = psutil.net_io_counters()

    def measure(self) -> Payload:
        """Return processors in use, memory, children, the machine's network, and for how long it got nowhere."""
        family = self._family()
        now, cpu_s, done, net = monotonic(), self._cpu(family), self._work(), self._psutil.net_io_counters()
        seconds = max(now - self._at, 1e-3)
        cpu = max(cpu_s - self._cpu_s, 0.0) / seconds
        if done != self._done or cpu < _BUSY:
            self._idle_since = now
        facts: dict[str, Any] = {
            "cpu": round(cpu, 3),
            "memory": self._memory(family),
            "children": len(family) - 1,
            "committed": done,
            "busy_s": round(now - self._idle_since, 1),
        }
        if net is not None and self._net is not None:
            facts["received_per_s"] = round((net.bytes_recv - self._net.bytes_recv) / seconds)
            facts["sent_per_s"] = round((net.bytes_sent - self._net.bytes_sent) / seconds)
        self._at, self._cpu_s, self._done, self._net = now, cpu_s, done, net
        return facts

    def _family(self) -> list[Any]:
        """Return this process and its children. To find these, every process of the machine is read."""
        return [self._process, *self._process.children(recursive=True)]

    def _cpu(self, family: Iterable[Any]) -> float:
        used = 0.0
        for each in family:
            try:
                times = each.cpu_times()
            except self._psutil.Error:  # it has ended meanwhile
                continue
            used += times.user + times.system
        return used

    def _memory(self, family: Iterable[Any]) -> int:
        used = 0
        for each in family:
            try:
                used += each.memory_info().rss
            except self._psutil.Error:
                continue
        return used
