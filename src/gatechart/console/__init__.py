"""HTML pages for operators: handoffs with the reasons for their targets, and the directory.

The pages read from a home of agents and change nothing. `gatechart serve` serves them under `/console`.
Requires the extra `gatechart[serve]`.
"""

from gatechart.errors.extras import needing

with needing("serve", "gatechart.console"):
    from gatechart.console.html import STYLE, html_of, style_sheet
from gatechart.console.pages import HOME, PAGES, ConsolePage, error_page

__all__ = ["HOME", "PAGES", "STYLE", "ConsolePage", "error_page", "html_of", "style_sheet"]
