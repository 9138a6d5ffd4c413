"""The console as HTTP answers: its pages, its style sheet, and errors as pages."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gatechart.api.errors import ErrorDocument
from gatechart.api.home import AgentHome
from gatechart.console import html_of, style_sheet
from gatechart.console.pages import PAGES, ConsolePage, error_page
from gatechart.serving.requests import decoded

_FIRST: Final = next(iter(PAGES))
_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


async def answer_with_page(home: AgentHome, path: str, request: Request) -> Response:
    """Answer with a page. path: its key in `PAGES`."""
    query = dict(parse_qsl(request.url.query)) | decoded(request.path_params)
    return _html(request, await PAGES[path](home, query), 200, {})


async def answer_with_style(_: Request) -> Response:
    """Answer with the style sheet of all pages."""
    return Response(style_sheet(), headers={"cache-control": "max-age=3600"}, media_type="text/css")


async def to_first_page(request: Request) -> Response:
    """Redirect from the root of the console to its first page."""
    return RedirectResponse(request.scope["root_path"] + _FIRST)


def error_as_page(request: Request, document: ErrorDocument, status: int, headers: Mapping[str, str]) -> Response:
    """Answer a person with an error."""
    page = error_page(f"{status} {HTTPStatus(status).phrase}", document.message)
    return _html(request, page, status, headers)


def _html(request: Request, page: ConsolePage, status: int, headers: Mapping[str, str]) -> Response:
    text = html_of(page, request.scope["root_path"])
    return Response(text, status, {**_HEADERS, **headers}, "text/html; charset=utf-8")
