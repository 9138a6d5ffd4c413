"""A service of its own for each move, on an engine that moves share."""

from contextlib import asynccontextmanager
from itertools import count

from gatechart.alerts.sinks import NO_ALERTS
from gatechart.restate import RestateRuntime, Terms, register, serving
from tests.ports import free_ports
from tests.restate.travellers import QUICK, Tools, graphs

NUMBERS = count(1)


def quiet(doing, done, total):
    """Tells nobody."""


@asynccontextmanager
async def home(
    engine, tmp_path, *, terms=None, served=graphs, services=None, projects=True, schedules=False, alerts=NO_ALERTS
):
    """A service on the engine that nobody has used, its tools, and what opens a runtime."""
    (port,) = free_ports(1)
    namespace, tools = f"m{next(NUMBERS)}", services or Tools()
    projection = f"sqlite+aiosqlite:///{tmp_path}/projection-{namespace}.db" if projects else None
    chosen = {"projection_s": 0.001, "mail_retry": QUICK, "look_again_s": 0.2} | (terms or {})
    async with serving(
        f"127.0.0.1:{port}",
        graphs=served,
        services=tools,
        projection=projection,
        namespace=namespace,
        ingress=engine.ingress if schedules or any(alerts) else None,
        alerts=alerts,
        terms=Terms(**chosen),
        grace_s=0.1,
    ):
        await register(engine.admin, f"http://127.0.0.1:{port}")

        def opened():
            return RestateRuntime.open(
                engine.ingress, graphs=served, projection=projection, namespace=namespace, patience_s=10
            )

        yield namespace, tools, opened
