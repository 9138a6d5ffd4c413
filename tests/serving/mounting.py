"""The application of a server, mounted in another application."""

from starlette.applications import Starlette
from starlette.routing import Mount


def mounted(application):
    """As FastAPI's `app.mount` does it, too."""
    return Starlette(routes=[Mount("/gc", application)])


def mounted_twice(application):
    return Starlette(routes=[Mount("/api", routes=[Mount("/gc", application)])])
