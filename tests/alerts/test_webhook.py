"""Webhooks, against a web server on this machine."""

import base64
import hmac
import json
import socket
import time
from hashlib import sha256

import pytest

from gatechart.alerts import Webhook
from gatechart.alerts.addresses import AddressRefusedError, resolved
from gatechart.alerts.webhook import WebhookRefusedError
from tests.alerts.receivers import ALERT, certificate, receiving

SECRET = "a secret of more than 16 bytes"


def hook(port, **more):
    return Webhook(f"http://127.0.0.1:{port}/hooks/7?team=ops", secret=SECRET, allow_internal=True, **more)


async def test_an_alert_is_posted_as_json_and_signed_by_the_standard():
    with receiving() as receiver:
        await hook(receiver.port).deliver(ALERT)
    [(headers, body)] = receiver.requests
    assert (headers[":path"], headers["content-type"]) == ("/hooks/7?team=ops", "application/json")
    assert json.loads(body) == {
        "id": "a-1",
        "kind": "stuck",
        "title": "agent case-1 stands still",
        "at": "2030-01-01T12:00:00+00:00",
        "severity": "critical",
        "agent_id": "case-1",
        "graph": "support",
        "details": {"since": "2030-01-01", "name": "Grüße 🚪"},
    }
    stamp = headers["webhook-timestamp"]
    assert headers["webhook-id"] == "a-1"
    assert abs(time.time() - int(stamp)) < 60
    signed = hmac.new(SECRET.encode(), f"a-1.{stamp}.".encode() + body, sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(signed).decode()}"


def test_a_secret_of_the_standard_is_decoded():
    key = b"0123456789abcdef0123"
    written = Webhook("https://example.org/", secret=f"whsec_{base64.b64encode(key).decode()}")
    plain = Webhook("https://example.org/", secret=key.decode())
    assert written.signed("a", b"{}", ALERT.at) == plain.signed("a", b"{}", ALERT.at)


@pytest.mark.parametrize("secret", ["", "short", "whsec_YQ==", "whsec_*"])
def test_a_secret_that_can_be_guessed_is_refused(secret):
    with pytest.raises(ValueError, match="secret"):
        Webhook("https://example.org/", secret=secret)


async def test_a_redirect_is_not_followed():
    with receiving() as other, receiving() as receiver:
        receiver.answers = [(307, {"location": f"http://127.0.0.1:{other.port}/"})]
        with pytest.raises(WebhookRefusedError, match="answered 307"):
            await hook(receiver.port).deliver(ALERT)
        assert other.requests == []


async def test_an_answer_that_takes_too_long_counts_as_none():
    with receiving() as receiver:
        receiver.waits_s = 0.5
        with pytest.raises(TimeoutError):
            await hook(receiver.port, timeout_s=0.05).deliver(ALERT)


@pytest.mark.parametrize(
    "url", ["http://example.org/", "ftp://example.org/", "https://", "https://user:pw@example.org/"]
)
def test_a_url_that_cannot_be_trusted_is_refused_when_it_is_configured(url):
    with pytest.raises(AddressRefusedError) as refused:
        Webhook(url, secret=SECRET)
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
    ],
)
async def test_internal_addresses_are_refused_in_every_form(host):
    """Also forms of IPv4 addresses that only the resolver of the system knows."""
    with pytest.raises(AddressRefusedError, match=r"not public|no address"):
        await Webhook(f"https://{host}/hook", secret=SECRET).deliver(ALERT)


async def test_a_host_is_refused_if_any_of_its_addresses_is_internal(monkeypatch):
    def found(*_, **__):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 443)) for each in ("93.184.215.14", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    with pytest.raises(AddressRefusedError, match=r"10\.0\.0\.1"):
        await resolved("https://example.org/")


async def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch, tmp_path):
    """The name is looked up once, and stands in the certificate, the SNI and the header."""
    asked = []
    real = socket.getaddrinfo

    def found(host, *arguments, **more):
        asked.append(host)
        return real("127.0.0.1" if host == "hooks.example.org" else host, *arguments, **more)

    server, client = certificate(tmp_path, "hooks.example.org")
    monkeypatch.setattr(socket, "getaddrinfo", found)
    with receiving(server) as receiver:
        url = f"https://hooks.example.org:{receiver.port}/"
        await Webhook(url, secret=SECRET, allow_internal=True, verify=client).deliver(ALERT)
        [(headers, _)] = receiver.requests
        assert headers["host"] == f"hooks.example.org:{receiver.port}"
        assert asked.count("hooks.example.org") == 1


async def test_a_certificate_of_another_name_is_refused(tmp_path):
    server, client = certificate(tmp_path, "hooks.example.org")
    with receiving(server) as receiver:
        sink = Webhook(f"https://localhost:{receiver.port}/", secret=SECRET, allow_internal=True, verify=client)
        with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
            await sink.deliver(ALERT)
        assert receiver.requests == []


def test_a_webhook_shows_nothing_secret():
    assert "secret" not in repr(Webhook("https://example.org/token", secret=SECRET)).lower()
    assert "token" not in repr(Webhook("https://example.org/token", secret=SECRET))
