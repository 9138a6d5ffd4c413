"""Pages for the people who run agents, as HTML: handoffs with why their targets were chosen, and the directory.

They are made from what a home of agents knows, and change nothing. `gatechart serve` serves them under `/console`.
Requires the extra `gatechart[serve]`.
"""

from gatechart.errors import needing

with needing("serve", "gatechart.console"):
    from gatechart.console.html import STYLE, html_of, style_sheet
from gatechart.console.pages import HOME, PAGES, Page, error_page

__all__ = ["HOME", "PAGES", "STYLE", "Page", "error_page", "html_of", "style_sheet"]
