"""The errors of the client and the server survive pickling, and say what would have worked."""

import pickle
from dataclasses import fields

import pytest

from gatechart.clients import errors as of_the_client
from gatechart.errors import GatechartError
from gatechart.serving import access, server

SAMPLES = {"str": "a text", "int": 7, "int | None": 7}
REMEDIES = {
    of_the_client.AnswerLostError: "give such calls an id",
    of_the_client.ChangesMissedError: "read the history of the agents that matter",
    of_the_client.ClientClosedError: "call it inside `async with HttpClient(...)`",
    of_the_client.ClientTokenError: "give the text that the server's token file has",
    of_the_client.ItemsMissedError: "read the invoke's result",
    of_the_client.ServerAnswerError: "mend the URL",
    of_the_client.ServerUnreachableError: "start it, or mend the URL",
    of_the_client.UnauthorizedError: "a text",  # the server's own words, which say it
    server.AddressError: "choose another with --host and --port",
    access.CallerNameError: "distinct from the other names",
    access.RegistrantsError: "write a name and a token of 16 or more characters",
    access.OpenDoorError: "give it one with --token-file",
    access.TokenError: "openssl rand -hex 32",
    access.TokenFileError: "name another file with --token-file",
}


def test_every_error_has_its_remedy():
    modules = (of_the_client, access, server)
    names = {module.__name__ for module in modules}
    found = [each for module in modules for each in vars(module).values()]
    own = {each for each in found if isinstance(each, type) and each.__module__ in names}
    errors = {each for each in own if issubclass(each, Exception)}
    assert all(issubclass(each, GatechartError) for each in errors)
    assert errors == set(REMEDIES)


@pytest.mark.parametrize("kind", REMEDIES)
def test_an_error_says_what_would_have_worked_and_survives_pickling(kind):
    error = kind(*(SAMPLES[field.type] for field in fields(kind)))
    assert REMEDIES[kind] in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
