"""Agents behind HTTP: the server behind `gatechart serve`, for programs that open a runtime themselves.

    lifecycle = Lifecycle()
    application = Application(lifecycle, graphs, token=token)
    async with listening(application, host="127.0.0.1", port=8700, has_token=True):
        async with Runtime.open(url, graphs=graphs) as runtime, lifecycle.hosting(runtime):
            ...

Requires the extra `gatechart[serve]`. Each command of `gatechart.api` has a route.
"""

from gatechart.errors.extras import needing

with needing("serve", "gatechart.serving"):
    from gatechart.serving.access import read_registrants, read_token
    from gatechart.serving.application import Application
    from gatechart.serving.connections import ServerLimits
    from gatechart.serving.lifecycle import Lifecycle, Phase
    from gatechart.serving.server import Server, listening

__all__ = ["Application", "Lifecycle", "Phase", "Server", "ServerLimits", "listening", "read_registrants", "read_token"]
