"""What actions and invokes need from outside: found by its name, made, opened and closed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import isawaitable, isroutine
from typing import Any

from gatechart.cli.errors import ServicesError
from gatechart.cli.importing import App, imported
from gatechart.cli.loading import find_services
from gatechart.cli.options import Settings


@asynccontextmanager
async def opened_services(settings: Settings) -> AsyncIterator[Any]:
    """The services that the settings or the project name, None where neither names any.

    A function or class is called, what it returns is awaited if it can be, and entered if it is an async context
    manager. Raises ServicesError, AppModuleError, AppImportError.
    """
    app = find_services(settings.services)
    if app is None:
        yield None
        return
    value = _attribute(app)
    async with AsyncExitStack() as stack:
        try:
            made = value() if isroutine(value) or isinstance(value, type) else value
            services = await made if isawaitable(made) else made
            if hasattr(services, "__aenter__") and hasattr(services, "__aexit__"):
                services = await stack.enter_async_context(services)
        except Exception as error:
            raise ServicesError(app.name, f"they raised {type(error).__name__}: {error}") from error
        yield services


def _attribute(app: App) -> Any:
    module_name, _, attribute = app.name.partition(":")
    if not module_name or not attribute or module_name.startswith((".", "/")):
        raise ServicesError(app.name, "that is not of the form module:attribute")
    module = imported(app, module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise ServicesError(app.name, f"the module {module_name!r} has no {attribute!r}") from None
