"""An object store on loopback, for a cluster's snapshots: the emulator of Azure's, which keeps blobs in a folder."""

import base64
import hashlib
import hmac
import subprocess
import time
from contextlib import contextmanager
from email.utils import formatdate
from urllib.request import Request, urlopen

from tests.ports import free_ports

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Those that the emulator is known by, everywhere."""

CONTAINER = "snapshots"
BEGINS_S = 30


class Blobs:
    """The store, with one container in it."""

    def __init__(self, program, folder):
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        arguments = ["--location", folder, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--silent"]
        command = [program, *arguments, "--disableTelemetry", "--skipApiVersionCheck"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    destination = f"az://{CONTAINER}/agents"

    @property
    def variables(self):
        """What tells an engine where the store is."""
        return {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": self._url,
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        }

    def create_container(self):
        """Returns once it is there."""
        end = time.monotonic() + BEGINS_S
        while True:
            try:
                with urlopen(_signed(self._url, f"{ACCOUNT}/{CONTAINER}"), timeout=5):
                    return
            except OSError:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
            time.sleep(0.1)

    def stop(self):
        """Nobody can reach it afterwards."""
        self._process.kill()
        self._process.wait()


@contextmanager
def blobs_in(program, folder):
    """A store that runs, and is killed at the end."""
    blobs = Blobs(program, folder)
    try:
        blobs.create_container()
        yield blobs
    finally:
        blobs.stop()


def _signed(url, path):
    """The request for a container, signed as the store wants it."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    told = "\n".join(f"{name}:{value}" for name, value in sorted(headers.items()))
    text = f"PUT{chr(10) * 12}{told}\n/{ACCOUNT}/{path}\nrestype:container"
    signature = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    headers["authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"
    return Request(f"{url}/{path}?restype=container", method="PUT", headers=headers | {"content-length": "0"})
