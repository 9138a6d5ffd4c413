"""Objects that a deployment names besides its graphs: services, choosing, packet migrations and tool policies."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import isawaitable, isroutine
from pathlib import Path
from typing import Any

from gatechart.cli.errors import ChoosingError, PacketMigrationsError, ServicesError
from gatechart.cli.loading import App, imported, of_project
from gatechart.cli.options import PACKET_MIGRATIONS_VARIABLE, TOOL_POLICIES_VARIABLE, Settings
from gatechart.errors.root import suggestion
from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.choosing import USUAL, Choosing, check_choosing
from gatechart.values.tool_policies import ToolPolicies


@asynccontextmanager
async def opened_services(settings: Settings) -> AsyncIterator[Any]:
    """Open the services that the settings or the project name; yield None if neither does.

    A function or class is called, its result is awaited if it is awaitable, and entered if it is an async context
    manager. Raises ServicesError, AppModuleError, AppImportError.
    """
    app = _named(settings.services, "services")
    if app is None:
        yield None
        return
    async with _opened(app, _attribute(app, ServicesError), ServicesError) as services:
        yield services


@asynccontextmanager
async def opened_choosing(settings: Settings) -> AsyncIterator[Choosing]:
    """Open the Choosing that the settings or the project name, in the same way as services.

    Raises ChoosingError, InvalidChoosingError, AppConfigError, AppModuleError, AppImportError.
    """
    app = _named(settings.choosing, "choosing")
    if app is None:
        yield USUAL
        return
    async with _opened(app, _attribute(app, ChoosingError), ChoosingError) as choosing:
        if not isinstance(choosing, Choosing):
            raise ChoosingError(app.name, f"it is of type {type(choosing).__name__}{_others(app)}")
        check_choosing(choosing)
        yield choosing


def load_packet_migrations() -> tuple[PacketMigration, ...]:
    """Load the packet migrations that the environment or the project names, if any.

    Raises PacketMigrationsError, AppConfigError, AppModuleError, AppImportError.
    """
    app = _named(os.environ.get(PACKET_MIGRATIONS_VARIABLE), "packet_migrations")
    if app is None:
        return ()
    value = _attribute(app, PacketMigrationsError)
    migrations = (value,) if isinstance(value, PacketMigration) else tuple(value) if isinstance(value, Iterable) else ()
    if not migrations or not all(isinstance(migration, PacketMigration) for migration in migrations):
        raise PacketMigrationsError(app.name, f"found {type(value).__name__}, expected a PacketMigration or several")
    return migrations


def load_tool_policies() -> Mapping[str, ToolPolicies]:
    """Load the policies of tool calls from the file that the environment or the project names, if any.

    Raises AppConfigError, and InvalidChartError for faults in the file.
    """
    file = _named(os.environ.get(TOOL_POLICIES_VARIABLE), "tool_policies")
    if file is None:
        return {}
    from gatechart.charts.load import load_tool_policies as load  # noqa: PLC0415  only this needs it, and it is slow to import

    return load(file.folder / file.name)


def _named(given: str | None, key: str) -> App | None:
    """Return the name in an option or a variable, else in the project's key; None if neither has one."""
    folder = Path.cwd()
    return App(given, folder, what=key) if given else of_project(folder, key)


def _attribute(app: App, error: type[ServicesError | ChoosingError | PacketMigrationsError]) -> Any:
    """Get a `module:attribute`. Raises the error, AppModuleError, AppImportError."""
    module_name, _, attribute = app.name.partition(":")
    if not module_name or not attribute or module_name.startswith((".", "/")):
        raise error(app.name, "the name is not of the form module:attribute")
    module = imported(app, module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise error(app.name, f"module {module_name!r} has no {attribute!r}{_others(app)}") from None


def _others(app: App) -> str:
    """Return a clause that lists the Choosing objects of the module; empty for other kinds."""
    if app.what != "choosing":
        return ""
    module_name, _, attribute = app.name.partition(":")
    members = vars(imported(app, module_name)).items()
    names = tuple(name for name, member in members if isinstance(member, Choosing) and not name.startswith("_"))
    return f"; of Choosing, {suggestion(attribute, names)}" if names else ""


@asynccontextmanager
async def _opened(app: App, value: Any, error: type[ServicesError | ChoosingError]) -> AsyncIterator[Any]:
    """Call a function or class, await its result if it is awaitable, and enter it if it is an async context manager."""
    async with AsyncExitStack() as stack:
        try:
            created = value() if isroutine(value) or isinstance(value, type) else value
            opened = await created if isawaitable(created) else created
            if hasattr(opened, "__aenter__") and hasattr(opened, "__aexit__"):
                opened = await stack.enter_async_context(opened)
        except Exception as raised:
            raise error(app.name, f"{type(raised).__name__} was raised: {raised}") from raised
        yield opened
