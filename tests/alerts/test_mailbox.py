"""Mail, against a mail server on this machine."""

import email
import logging
import smtplib

import pytest

from gatechart.alerts import Mailbox
from tests.alerts.receivers import ALERT, certificate, mailing


def box(port, **more):
    return Mailbox("127.0.0.1", port=port, sender="Gatechart <gate@example.org>", to=["ops@example.org"], **more)


async def test_an_alert_is_mailed_over_starttls_after_a_login(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    server, client = certificate(tmp_path, "127.0.0.1")
    with mailing(server) as (letters, port):
        sink = box(port, user="gate", password="right secret", context=client)
        await sink.deliver(ALERT)
        await sink.deliver(ALERT)
    (envelope, is_encrypted), (again, _) = letters.envelopes
    assert is_encrypted
    assert letters.logins == [("gate", "right secret")] * 2
    assert (envelope.mail_from, envelope.rcpt_tos) == ("gate@example.org", ["ops@example.org"])
    letter, repeat = (email.message_from_bytes(each.content, policy=email.policy.default) for each in (envelope, again))
    assert letter["subject"] == "[critical] agent case-1 stands still"
    assert letter["message-id"] == repeat["message-id"]
    assert "case-1" in letter.get_content()
    assert "Grüße 🚪" in letter.get_content()
    assert "right secret" not in caplog.text + repr(sink)


async def test_a_server_without_starttls_gets_nothing():
    with mailing() as (letters, port):
        with pytest.raises(smtplib.SMTPNotSupportedError):
            await box(port).deliver(ALERT)
        assert letters.envelopes == []


async def test_encryption_can_be_done_without_where_there_is_no_password():
    with mailing() as (letters, port):
        await box(port, starttls=False).deliver(ALERT)
    assert len(letters.envelopes) == 1
    with pytest.raises(ValueError, match="only over STARTTLS"):
        box(port, starttls=False, user="gate", password="x")


@pytest.mark.parametrize("half", [{"user": "gate"}, {"password": "x"}])
def test_a_user_without_a_password_is_refused_and_so_is_a_password_without_a_user(half):
    with pytest.raises(ValueError, match="give user and password, or neither"):
        box(25, **half)


async def test_a_wrong_password_is_a_failure_that_does_not_show_it(tmp_path):
    server, client = certificate(tmp_path, "127.0.0.1")
    with mailing(server) as (letters, port):
        with pytest.raises(smtplib.SMTPAuthenticationError) as failed:
            await box(port, user="gate", password="wrong secret", context=client).deliver(ALERT)
        assert letters.envelopes == []
    assert "wrong secret" not in str(failed.value)


@pytest.mark.parametrize("address", ["", "nobody", "a@b\nBcc: c@d"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ValueError, match="is not a mail address"):
        Mailbox("127.0.0.1", sender=address, to=["ops@example.org"])
    with pytest.raises(ValueError, match="needs an address"):
        Mailbox("127.0.0.1", sender="a@b.org", to=[])
