"""What is skipped for want of a home is told loudly at the end, whichever process skipped it."""

LOUD = "NOT TESTED on "
"""How the reason begins of a test that is skipped because there is no such home on this machine."""


def pytest_terminal_summary(terminalreporter):
    """Reports are all that reaches this process from those in which xdist runs the tests."""
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = (each.longrepr[2] if isinstance(each.longrepr, tuple) else str(each.longrepr) for each in skipped)
    for told in sorted({reason.removeprefix("Skipped: ") for reason in reasons if LOUD in reason}):
        terminalreporter.write_line(told, red=True, bold=True)
