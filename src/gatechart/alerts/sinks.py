"""The sinks of alerts, as a program configures them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from gatechart.errors.directory import LookAlikeError
from gatechart.turn.arguments import checked_key, checked_new_id
from gatechart.values.alerts import AlertMessage
from gatechart.values.delays import Delay, Retry, seconds_in
from gatechart.values.look_alikes import first_alike

_GIVE_UP_AFTER: Final = "1d"


class AlertSink(Protocol):
    """Delivers alerts to somebody outside."""

    async def deliver(self, alert: AlertMessage) -> None:
        """Deliver an alert. It may come again, under the same id. Raises an exception if it was not delivered."""
        ...


class Alerts:
    """The sinks by name: `Alerts({"ops": Webhook("https://…", secret=…), "mail": Mailbox(…)})`.

    Only a program names where alerts go; charts name sinks. An alert is delivered at least once. One that cannot be
    delivered is tried again, with growing waits, and given up after a while.
    """

    def __init__(
        self,
        sinks: Mapping[str, AlertSink] = MappingProxyType({}),
        *,
        first_wait: Delay = "5s",
        longest_wait: Delay = "10m",
        give_up_after: Delay = _GIVE_UP_AFTER,
    ) -> None:
        """Take the sinks.

        first_wait, longest_wait: before another attempt; each wait is twice as long as the one before.
        give_up_after: how long an alert is tried. Raises ValueError, PayloadError, and LookAlikeError for two
        names that look alike.
        """
        self._sinks = {checked_key(name, "sink"): sink for name, sink in sinks.items()}
        for name in sinks:
            checked_new_id(name, "sink")
            if alike := first_alike(name, sinks):
                raise LookAlikeError(name, alike, "the name of a sink")
        first_s, most_s = seconds_in(first_wait, "first_wait"), seconds_in(longest_wait, "longest_wait")
        self.retry: Final = Retry(attempts=2**62, first_s=first_s, most_s=most_s)
        self.give_up_s: Final = seconds_in(give_up_after, "give_up_after")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the sinks."""
        return iter(self._sinks)

    def __repr__(self) -> str:
        return f"Alerts({', '.join(self._sinks)})"

    def sink(self, name: str) -> AlertSink | None:
        """Return the sink of a name, or None."""
        return self._sinks.get(name)


NO_ALERTS: Final = Alerts()
"""No sinks: alerts wait until there are some."""
