"""The configuration of the sinks of alerts."""

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
    """Delivers alerts to a person or another program."""

    async def deliver(self, alert: AlertMessage) -> None:
        """Deliver an alert. It may be delivered again, with the same id. Raises an exception if the delivery failed."""
        ...


class Alerts:
    """The sinks by name: `Alerts({"ops": Webhook("https://…", secret=…), "mail": Mailbox(…)})`.

    Charts contain only the names of sinks; the destinations are configured here. An alert is delivered at least once. A
    failed delivery is retried with growing waits, and abandoned after a time limit.
    """

    def __init__(
        self,
        sinks: Mapping[str, AlertSink] = MappingProxyType({}),
        *,
        first_wait: Delay = "5s",
        longest_wait: Delay = "10m",
        give_up_after: Delay = _GIVE_UP_AFTER,
    ) -> None:
        """Configure the sinks.

        first_wait, longest_wait: wait before the next attempt; each wait is twice the previous one.
        give_up_after: time limit for all attempts of an alert. Raises ValueError, PayloadError, and LookAlikeError for
        two names that look alike.
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
        """Return the sink with a name; None if there is none."""
        return self._sinks.get(name)


NO_ALERTS: Final = Alerts()
"""No sinks: alerts wait until sinks are configured."""
