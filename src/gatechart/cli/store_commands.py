"""Commands for the store itself."""

from __future__ import annotations

from gatechart.cli.options import Settings
from gatechart.cli.printing import print_document, print_line
from gatechart.stores import upgrade_store


async def upgrade_database(settings: Settings) -> None:
    """Bring the database to the schema of this gatechart.

    Any other command that needs it asks for it. End the runtime that owns the database first, and keep a backup.

    Examples:
      gatechart upgrade --store sqlite+aiosqlite:///agents.db
    """
    before, after = await upgrade_store(settings.store)
    if settings.json:
        print_document({"store": settings.store, "before": before, "after": after})
    elif before == after:
        print_line(f"{settings.store} has the newest schema already, {after}")
    else:
        print_line(f"{settings.store} was brought from {before or 'an empty database'} to the schema {after}")
