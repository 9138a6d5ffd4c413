"""Transfers: the targets that the invoke of a state can choose as the next step, with a limit of choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gatechart.graph.handoff import Fallbacks, Handoff, Told
from gatechart.graph.names import names_of, one_or_more
from gatechart.graph.selection import Best
from gatechart.values.delays import Delay
from gatechart.values.frozen import fill
from gatechart.values.names import EventName, Name, StateName, name_of
from gatechart.values.transfers import TRANSFER, TransferCounts, count_of


@dataclass(frozen=True, init=False)
class To:
    """A target of transfers: a state of the graph, or with `at` an entry point of another graph, through a handoff.

    `To(Best(...))` hands on to the best target in the directory.

    Until the other graph answers, the agent waits in the state `waits`. If that is omitted, the graph adds a state
    named `<source>_TO_<graph>`. From there a rejection leads back to the source, so that another target can be chosen,
    and an acceptance ends the agent, as usual.
    """

    target: str | Best  # name of a state or a graph, or a selection of the target
    at: str = ""  # entry point of the graph
    description: str = ""  # for the model; by default the description of the state or the entry point
    guard: Callable[..., Any] | None = None  # as for a transition; a denied target is not offered
    actions: tuple[Callable[..., Any], ...] = ()  # of the transition; the arguments are in `event.payload["arguments"]`
    takes: type[BaseModel] | None = None  # further arguments; by default the payload fields of the entry point
    packet: Told | None = None  # builds the handoff's packet; by default built from the context and the arguments
    deadline: Delay | None = None  # of the offer
    fallbacks: Fallbacks | None = None  # of the offer
    waits: StateName = ""
    transcript: bool = True  # whether the handoff's packet also has the messages of the agent's model loops

    def __init__(
        self,
        target: Name | Best,
        *,
        at: Name = "",
        description: str = "",
        guard: Callable[..., Any] | None = None,
        actions: Iterable[Callable[..., Any]] | Callable[..., Any] = (),
        takes: type[BaseModel] | None = None,
        packet: Told | None = None,
        deadline: Delay | None = None,
        fallbacks: Fallbacks | None = None,
        waits: Name = "",
        transcript: bool = True,
    ) -> None:
        fields = {
            "target": target if isinstance(target, Best) else name_of(target),
            "at": name_of(at),
            "description": description,
            "guard": guard,
            "actions": one_or_more(actions),
            "takes": takes,
            "packet": packet,
            "deadline": deadline,
            "fallbacks": fallbacks,
            "waits": name_of(waits),
            "transcript": transcript,
        }
        fill(self, **fields)

    @property
    def is_handoff(self) -> bool:
        """Whether the target is an entry point of another graph."""
        return bool(self.at) or isinstance(self.target, Best)

    @property
    def name(self) -> str:
        """Name of the state, the graph or the selection."""
        return self.target.name if isinstance(self.target, Best) else self.target

    @property
    def handoff(self) -> Handoff:
        """The handoff that its choice starts."""
        return Handoff(
            self.target,
            at=self.at,
            packet=self.packet,
            deadline=self.deadline,
            fallbacks=self.fallbacks,
            transcript=self.transcript,
        )

    @property
    def key(self) -> str:
        """Name of the target in events and counts.

        >>> To("SEARCHING").key, To("refunds", at="REVIEWING").key
        ('SEARCHING', 'refunds.REVIEWING')
        """
        return f"{self.name}.{self.at}" if self.at else self.name

    @property
    def event(self) -> EventName:
        """Event of its choice.

        >>> To("SEARCHING").event
        'transfer.SEARCHING'
        """
        return f"{TRANSFER}{self.key}"

    @property
    def tool(self) -> str:
        """Name of the tool that a model calls to choose it.

        >>> To("SEARCHING").tool, To("refunds", at="REVIEWING").tool, To(Best()).tool
        ('transfer_to_SEARCHING', 'transfer_to_refunds_at_REVIEWING', 'transfer_to_best')
        """
        return f"transfer_to_{self.name}_at_{self.at}" if self.at else f"transfer_to_{self.name}"

    def waiting_state(self, source: StateName) -> StateName:
        """Return the state that the choice leads to from the source.

        >>> To("SEARCHING").waiting_state("CHECKING"), To("refunds", at="REVIEWING").waiting_state("CHECKING")
        ('SEARCHING', 'CHECKING_TO_refunds')
        """
        return (self.waits or f"{source}_TO_{self.name}") if self.is_handoff else self.name


@dataclass(frozen=True, init=False)
class Transfers:
    """The targets that a state offers to a model as tools, with a limit of choices.

    Each choice counts, for the state across all its entries. When none is left, the invoke runs without the tools, and
    its end takes `otherwise`, as does an end without a choice that no transition of the state handles. A target whose
    guard no longer agrees is refused once per entry of the state; another refused choice takes `otherwise`. The counts
    are reset by a turn that handles one of `resets_on`. `most=None` switches the transfers off.
    """

    targets: tuple[To, ...]
    most: int | None = 3
    otherwise: StateName = ""
    resets_on: tuple[EventName, ...] = ()
    arguments: bool = True  # whether the tools take a reason, a summary and the target's own arguments
    status: Callable[[Any], str] | None = None  # describes the state of the task to the model, from the context

    def __init__(
        self,
        targets: Iterable[To | Name | Best] | To | Name | Best,
        *,
        most: int | None = 3,
        otherwise: Name = "",
        resets_on: Iterable[Name] | Name = (),
        arguments: bool = True,
        status: Callable[[Any], str] | None = None,
    ) -> None:
        fields = {
            "targets": tuple(target if isinstance(target, To) else To(target) for target in one_or_more(targets)),
            "most": most,
            "otherwise": name_of(otherwise),
            "resets_on": names_of(resets_on),
            "arguments": arguments,
            "status": status,
        }
        fill(self, **fields)

    @property
    def is_on(self) -> bool:
        """Whether the transfers are switched on."""
        return self.most is not None

    def left(self, counts: TransferCounts, state: StateName) -> int:
        """Return the number of choices that a state with these transfers has left."""
        return 0 if self.most is None else max(self.most - count_of(counts, state).taken, 0)

    def target(self, key: str) -> To | None:
        """Return the target with this key; None if there is none."""
        return next((target for target in self.targets if target.key == key), None)
