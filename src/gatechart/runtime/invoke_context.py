"""What an invoked function is handed beside the context: steps that are done once, keys, progress, a stream."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final, Generic, get_type_hints
from uuid import UUID, uuid5

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError
from typing_extensions import TypeVar

from gatechart.context import problems_of
from gatechart.errors import InvocationOverError, StepRepeatedError, StepResultError, is_failure
from gatechart.hosting.subscriptions import Feeds
from gatechart.runtime.core import Core
from gatechart.turn import check_finite, check_numbers_kept, checked_key, checked_words, plain_payload
from gatechart.values import AgentId, Invocation, Mail, Report, Retry, StepRecord, Verdict

KEYS: Final = UUID("8d5a5f0c-6c0b-5c58-9a5b-6b1d2f3a4c5e")  # the namespace of idempotency keys

ServicesT = TypeVar("ServicesT", default=Any)

StreamKey = tuple[AgentId, str]  # an agent, and the id of one of its invokes


class Work(Generic[ServicesT]):
    """The tools of one invocation. Got by the function as its second argument.

    `work: Work[Services]` lets a type checker know what `work.services` is.
    """

    def __init__(
        self,
        core: Core,
        invocation: Invocation,
        recorded: Mapping[str, str],
        report: Callable[[Mail], None],
        streams: Feeds[StreamKey, Any],
    ) -> None:
        self._core = core
        self._invocation = invocation
        self._recorded = recorded
        self._report = report
        self._streams = streams
        self._names: set[str] = set()

    @property
    def agent_id(self) -> AgentId:
        """The agent whose state invokes the function."""
        return self._invocation.agent_id

    @property
    def services(self) -> ServicesT:
        """What was given to `Runtime.open` as services."""
        services: ServicesT = self._core.services
        return services

    @property
    def now(self) -> datetime:
        """The present moment, aware, in UTC. A repeat of the invocation sees another one; a step keeps what it saw."""
        return self._core.clock.now()

    async def step(
        self, name: str, function: Callable[..., Any], *args: Any, retry: Retry | None = None, returns: Any = None
    ) -> Any:
        """The result of the function, which is called once and for all: a repeat of the invocation gets the result.

        name: unique in the invocation. function: async, or plain, which then runs in a thread of its own.
        retry: how a function that raises is tried again; without it the first exception is passed on.
        returns: the type of the result, as the function is annotated if left out. Results are kept as JSON and come
        back as this type, plain JSON values where it is not known.

        Raises PayloadError where no store can keep the name, StepRepeatedError where it was used before,
        StepResultError where the result cannot be kept, InvocationOverError where the state has been left meanwhile,
        and what the function raises.
        """
        if checked_key(name, "step") in self._names:
            raise StepRepeatedError(self.agent_id, self._invocation.invoke, name)
        self._names.add(name)
        kept = _Kept(self.agent_id, name, _returned(function) if returns is None else returns)
        text = self._recorded.get(name)
        if text is None:
            text = await self._record(name, kept.written(await self._tried(partial(function, *args), retry)))
        return kept.read(text)

    def idempotency_key(self, name: str) -> str:
        """A key for outside systems that do a thing once for each key: the same whenever the invocation is repeated.

        It stays the same where a migration renames the state. Raises PayloadError for a name that no store can keep.
        Source: version 5 of RFC 9562.
        """
        it = self._invocation
        return str(uuid5(KEYS, "\0".join((it.agent_id, str(it.epoch), it.invoke, checked_words(name, "key")))))

    async def sleep(self, seconds: float) -> None:
        """Waits by the runtime's clock. A repeat of the invocation waits anew; a state's timer does not."""
        await self._core.sleep(seconds)

    async def progress(self, payload: Any = None) -> None:
        """Sends the agent the event `progress.invoke.<id>`. payload: as of `Agent.send`.

        Raises PayloadError, and InvocationOverError where the state has been left meanwhile.
        """
        mail = report_mail(self.now, self._invocation, "progress", plain_payload(payload, "progress"))
        report = Report(self._invocation, mail, ends=False)
        if await self._core.persist_mail(report, self._report) is not Verdict.COMMITTED:
            raise InvocationOverError(self.agent_id, self._invocation.state, self._invocation.invoke)

    def publish(self, item: Any) -> None:
        """Gives the item to those who watch the invoke at this moment, see `Runtime.stream`. It is not stored."""
        self._streams.publish((self.agent_id, self._invocation.invoke), item)

    async def _record(self, name: str, text: str) -> str:
        """The result that stands for the step from now on. Raises InvocationOverError."""
        verdict = await self._core.persist(StepRecord(self._invocation, name, text))
        if verdict is Verdict.REPEATED:  # its answer was lost, or an attempt before this one is still at work
            return (await self._core.ask(partial(self._core.store.steps, self._invocation))).get(name, text)
        if verdict is not Verdict.COMMITTED:
            raise InvocationOverError(self.agent_id, self._invocation.state, self._invocation.invoke)
        return text

    async def _tried(self, call: Callable[[], Any], retry: Retry | None) -> Any:
        failed = 0
        while True:
            try:
                return await _called(call)
            except BaseException as error:
                if not is_failure(error):
                    raise
                failed += 1
                wait_s = None if retry is None else retry.wait_s(failed)
                if wait_s is None:
                    raise
            await self.sleep(wait_s)


def report_mail(now: datetime, invocation: Invocation, kind: str, payload: Mapping[str, Any]) -> Mail:
    """Mail from an invocation to its agent: `<kind>.invoke.<id>`, which counts as long as the state lasts.

    It has no number yet.
    """
    return Mail(
        0,
        invocation.agent_id,
        f"{kind}.invoke.{invocation.invoke}",
        payload,
        now,
        state=invocation.state,
        epoch=invocation.epoch,
    )


class _Kept:
    """How the results of a step are written and read."""

    def __init__(self, agent_id: AgentId, name: str, kind: Any) -> None:
        self._agent_id = agent_id
        self._name = name
        self._adapter = _adapter(kind)

    def written(self, result: Any) -> str:
        try:
            adapter = _adapter(type(result)) if isinstance(result, BaseModel) else self._adapter
            text = adapter.dump_json(result, round_trip=True, warnings="error").decode()
            check_numbers_kept(result, self._read_back(text, result))
        except (PydanticSerializationError, ValueError, TypeError) as error:
            raise StepResultError(self._agent_id, self._name, _problems(error)) from error
        return text

    def _read_back(self, text: str, result: Any) -> Any:
        try:
            return self._adapter.validate_json(text)
        except ValidationError:
            check_finite(result)  # a number that was written as null says more than that null is no number
            raise

    def read(self, text: str) -> Any:
        return self._adapter.validate_json(text)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(kind)
    except PydanticSchemaGenerationError:
        return TypeAdapter(Any)


def _returned(function: Callable[..., Any]) -> Any:
    """The annotated type of what the function returns; Any where there is none."""
    while isinstance(function, partial):
        function = function.func
    annotated = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    try:
        return get_type_hints(annotated).get("return", Any)
    except (NameError, TypeError):
        return Any


def _problems(error: Exception) -> tuple[str, ...]:
    if isinstance(error, ValidationError | PydanticSerializationError):
        return problems_of(error)
    return (str(error),)


async def _called(call: Callable[[], Any]) -> Any:
    function = call.func if isinstance(call, partial) else call
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await call()
    result = await asyncio.to_thread(call)
    return await result if inspect.isawaitable(result) else result
