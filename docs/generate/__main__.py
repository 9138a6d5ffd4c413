"""Write the pages of the site to build/pages, or to another folder. `make docs` builds the site from them."""

import sys
from pathlib import Path

from docs.generate import pages
from docs.generate.api import api
from docs.generate.layout import ROOT, lay_out

GENERATED = {
    "reference/api.md": api(),
    "reference/chart-keys.md": pages.chart_keys(),
    "reference/commands.md": pages.commands(),
    "reference/configuration.md": pages.configuration(),
    "reference/errors.md": pages.error_page(),
    "reference/http.md": pages.http(),
}

lay_out(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "pages", GENERATED)
