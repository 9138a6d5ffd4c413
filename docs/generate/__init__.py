"""Generated pages of the site: `python -m docs.generate` writes them, with the handwritten pages, to build/pages."""
