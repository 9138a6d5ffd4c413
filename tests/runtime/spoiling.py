"""Databases, changed by hand beside the runtime: they refuse what a test says, or hold rows that nobody can read."""

import asyncio
import sqlite3
from urllib.parse import urlsplit

import asyncpg


async def by_hand(url, *statements):
    """Executes the statements on the database of the URL, as another program would; what the last one finds."""
    if url.startswith("sqlite"):
        return await asyncio.to_thread(_on_sqlite, url.partition("///")[2], statements)
    parts = urlsplit(url)
    connection = await asyncpg.connect(f"postgresql://{parts.netloc}{parts.path}?{parts.query}")
    try:
        for statement in statements[:-1]:
            await connection.execute(statement)
        return [tuple(row) for row in await connection.fetch(statements[-1])]
    finally:
        await connection.close()


def _on_sqlite(path, statements):
    connection = sqlite3.connect(path, timeout=30)
    try:
        with connection:
            for statement in statements:
                found = connection.execute(statement)
            return found.fetchall()
    finally:
        connection.close()


def refusal(url, table, column, value, state):
    """Statements after which the database refuses a row whose column has the value. state: PostgreSQL's SQLSTATE."""
    if url.startswith("sqlite"):
        return [
            f"CREATE TRIGGER poison_{table} BEFORE INSERT ON {table} WHEN NEW.{column} = '{value}' "
            "BEGIN SELECT RAISE(ABORT, 'poison'); END"
        ]
    return [
        f"CREATE FUNCTION poison_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION 'poison' USING ERRCODE = '{state}'; END $$",
        f"CREATE TRIGGER poison BEFORE INSERT ON {table} FOR EACH ROW WHEN (NEW.{column} = '{value}') "
        f"EXECUTE FUNCTION poison_{table}()",
    ]


def pardon(url, table):
    """Statements after which it refuses no more."""
    if url.startswith("sqlite"):
        return [f"DROP TRIGGER poison_{table}"]
    return [f"DROP TRIGGER poison ON {table}", f"DROP FUNCTION poison_{table}()"]
