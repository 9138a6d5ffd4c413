"""Which tests need processes beside pytest's own: servers, engines, children that live and die by themselves."""

FOLDERS = ("crash", "on_restate")
HOMES = {"postgresql", "restate"}
FIXTURES = {"child", "engine", "postgres_server", "postgres_url", "restate_place", "safe_server", "unmeasured"}


def needs_processes(item):
    """Whether a test does, by where it lies, by the home that its agents have, and by what it asks for."""
    called = getattr(item, "callspec", None)
    given = {value for value in called.params.values() if isinstance(value, str)} if called else set()
    asked = given.union(getattr(item, "fixturenames", ()))
    return item.path.parent.name in FOLDERS or not asked.isdisjoint(HOMES | FIXTURES)
