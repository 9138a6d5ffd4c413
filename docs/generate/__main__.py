"""Lay the pages of the site out in build/pages, or in another folder, from which `make docs` builds it."""

import sys
from pathlib import Path

from docs.generate.layout import ROOT, lay_out

lay_out(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "pages", {})
