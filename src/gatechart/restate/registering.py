"""Telling the engine of a service."""

from __future__ import annotations

from typing import Any

import aiohttp

from gatechart.errors import EngineRefusedError, EngineUnreachableError


async def register(admin_url: str, service_url: str, *, breaking: bool = False) -> tuple[str, ...]:
    """Has the engine find out what the service offers, whose names are returned; agents can be reached from then on.

    admin_url: the engine's, `http://127.0.0.1:9070` on this machine. service_url: where the engine reaches the service.
    breaking: take it even where something is gone that the engine knew.

    Raises EngineUnreachableError, and EngineRefusedError where the engine does not get an answer of the service.
    """
    asked: dict[str, Any] = {"uri": service_url, "force": True, "breaking": breaking}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
            http.post(f"{admin_url.rstrip('/')}/deployments", json=asked) as response,
        ):
            if response.status >= 400:
                raise EngineRefusedError(admin_url, "register", f"{response.status} {await response.text()}")
            told = await response.json()
    except (aiohttp.ClientError, OSError) as error:
        raise EngineUnreachableError(admin_url, f"{type(error).__name__}: {error}") from error
    return tuple(each["name"] for each in told.get("services", ()))
