"""The clients' tests ask the servers of the tests of serving."""

from tests.serving.conftest import client, served  # noqa: F401  fixtures
