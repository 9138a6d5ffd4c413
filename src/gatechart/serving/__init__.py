"""Agents behind HTTP: what `gatechart serve` runs, for programs that bring a runtime of their own.

    stage = Stage()
    application = Application(stage, graphs, token=token)
    async with listening(application, host="127.0.0.1", port=8700, has_token=True):
        async with Runtime.open(url, graphs=graphs) as runtime, stage.hosting(runtime):
            ...

It needs the extra `gatechart[serve]`.
"""

from gatechart.serving.access import read_token
from gatechart.serving.application import Application
from gatechart.serving.limits import ServerLimits
from gatechart.serving.server import Server, listening
from gatechart.serving.stage import Phase, Stage

__all__ = ["Application", "Phase", "Server", "ServerLimits", "Stage", "listening", "read_token"]
