"""What the site has beside the pages that people write: `python -m docs.generate` lays all of it out in build/pages."""
