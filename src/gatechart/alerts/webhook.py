"""The sink that posts alerts to a URL, signed according to Standard Webhooks."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from gatechart.alerts.addresses import checked_url, resolved
from gatechart.errors.extras import needing
from gatechart.errors.root import OutsideError
from gatechart.turn.alerts import alert_payload
from gatechart.values.alerts import AlertMessage

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

_ENCODED: Final = "whsec_"  # the rest of such a secret is base64
_LEAST_SECRET: Final = 16  # bytes; anything shorter can be guessed


@dataclass(eq=False)
class WebhookRefusedError(OutsideError):
    """The receiver of a webhook did not accept an alert."""

    host: str
    status: int

    def __str__(self) -> str:
        return (
            f"{self.host} answered an alert with status {self.status}; it must answer 2xx (redirects are not followed)"
        )


class Webhook:
    """Posts each alert as a JSON object to a URL.

    The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` follow https://www.standardwebhooks.com: the
    signature is `v1,` and the base64 of HMAC-SHA256 over `ID.TIMESTAMP.BODY`, so any of its libraries can verify it.
    The receiver accepts the alert by answering 2xx within the time limit.
    """

    def __init__(
        self,
        url: str,
        *,
        secret: str,
        allow_internal: bool = False,
        timeout_s: float = 5.0,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        """Configure the destination.

        url: with https and a public address, unless allow_internal is True.
        secret: shared with the receiver, 16 bytes or more; `whsec_` and base64, or any other text.
        timeout_s: limit for a whole attempt. verify: trusted certificates, by default the certificates of the system.
        Raises AddressRefusedError, ValueError for a secret that is too short, and ExtraMissingError without httpx.
        """
        checked_url(url, allow_internal=allow_internal)
        self._url = url
        self._key = _key_of(secret)
        self._allow_internal = allow_internal
        self._timeout_s = timeout_s
        self._verify: ssl.SSLContext | bool = True if verify is None else verify
        with needing("client", "a webhook"):
            import httpx  # noqa: PLC0415  an extra, needed only for webhooks
        self._httpx = httpx

    def __repr__(self) -> str:
        return "Webhook(...)"  # the URL may be secret, too

    async def deliver(self, alert: AlertMessage) -> None:
        """See AlertSink. Raises AddressRefusedError, WebhookRefusedError, TimeoutError, and the exceptions of httpx."""
        body = to_json(alert_payload(alert))
        async with asyncio.timeout(self._timeout_s):
            destination = await resolved(self._url, allow_internal=self._allow_internal)
            headers = {"host": destination.named, "content-type": "application/json", **self.signed(alert.id, body)}
            http = self._httpx.AsyncClient(verify=self._verify, trust_env=False, timeout=self._timeout_s)
            async with (
                http,
                http.stream(
                    "POST",
                    destination.url,
                    content=body,
                    headers=headers,
                    extensions={"sni_hostname": destination.host},
                ) as response,
            ):
                if not response.is_success:
                    raise WebhookRefusedError(destination.host, response.status_code)

    def signed(self, alert_id: str, body: bytes, now: datetime | None = None) -> Mapping[str, str]:
        """Return the headers with the signature of a body."""
        stamp = str(int((now or datetime.now(UTC)).timestamp()))
        mac = hmac.new(self._key, b".".join((alert_id.encode(), stamp.encode(), body)), sha256).digest()
        return {
            "webhook-id": alert_id,
            "webhook-timestamp": stamp,
            "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
        }


def _key_of(secret: str) -> bytes:
    try:
        encoded = secret.removeprefix(_ENCODED)
        key = base64.b64decode(encoded, validate=True) if encoded != secret else secret.encode()
    except binascii.Error:
        raise ValueError("the secret of a webhook begins with whsec_, so the rest must be base64") from None
    if len(key) < _LEAST_SECRET:
        raise ValueError(
            f"the secret of a webhook has {len(key)} bytes; use 16 or more, such as `openssl rand -hex 32`"
        )
    return key
