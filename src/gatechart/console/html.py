"""Render pages as HTML, with templates that escape all values."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gatechart.api import descriptions
from gatechart.api.route import quoted_part
from gatechart.console.pages import HOME, ConsolePage
from gatechart.drawing.text import visible
from gatechart.values.names import EARLIEST

STYLE: Final = f"{HOME}/style.css"
"""The path of the style sheet, whose content is `style_sheet()`."""


def html_of(page: ConsolePage, root: str) -> str:
    """Render a page's template. root: path prefix of the application."""
    return _environment().get_template(page.template).render(page.values, root=root, console=f"{root}{HOME}")


def style_sheet() -> str:
    """Return the style sheet of all pages."""
    return _environment().get_template("style.css").render()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gatechart.console"),
        autoescape=True,
        finalize=_readable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"part": quoted_part, "moment": _moment}
    environment.globals["words"] = descriptions
    return environment


def _readable(given: Any) -> Any:
    """Escape unprintable characters, such as marks that reverse the direction of a text; keep line breaks."""
    if not isinstance(given, str) or isinstance(given, Markup):
        return given
    return "\n".join(map(visible, given.splitlines()))


def _moment(moment: datetime) -> Markup:
    """Render a moment in UTC, for readers in different time zones; "unknown" if a damaged row lacks it."""
    if moment <= EARLIEST:
        return Markup("unknown")
    utc = moment.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(utc.isoformat(), f"{utc:%Y-%m-%d %H:%M:%S}")
