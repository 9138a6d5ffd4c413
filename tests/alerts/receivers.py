"""Receivers of alerts that run on this machine: a web server, with or without TLS, and a mail server."""

import datetime
import ipaddress
import json
import ssl
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gatechart.values.alerts import AlertMessage, Severity
from tests.ports import free_ports

AT = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
ALERT = AlertMessage(
    "a-1",
    "stuck",
    "agent case-1 stands still",
    AT,
    Severity.CRITICAL,
    "case-1",
    "support",
    {"since": "2030-01-01", "name": "Grüße 🚪"},
)


class Receiver:
    """A web server that keeps what is posted to it."""

    def __init__(self, port):
        self.port = port
        self.requests = []  # headers in lower case, with `:path`, and the body, of each
        self.answers = []  # a status, or a status with headers, for the next requests; 204 where there is none
        self.waits_s = 0.0

    def ids(self):
        return [headers["webhook-id"] for headers, _ in self.requests]

    def bodies(self):
        return [json.loads(body) for _, body in self.requests]


@contextmanager
def receiving(context=None, host="127.0.0.1"):
    """Within it a web server listens on loopback. context: of TLS."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): text for name, text in self.headers.items()}
            receiver.requests.append(({":path": self.path, **headers}, body))
            time.sleep(receiver.waits_s)
            status, more = (receiver.answers.pop(0) if receiver.answers else 204), {}
            if isinstance(status, tuple):
                status, more = status
            self.send_response(status)
            for name, text in more.items():
                self.send_header(name, text)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver = Receiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def certificate(folder, name):
    """The TLS contexts of a server with a certificate of its own for a name, and of clients that trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))][: 1 if name != "127.0.0.1" else 2]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    client = ssl.create_default_context(cadata=made.public_bytes(serialization.Encoding.PEM).decode())
    return server, client


class Letters:
    """Keeps the letters that a mail server takes, and who logged in."""

    def __init__(self):
        self.envelopes = []
        self.logins = []

    async def handle_DATA(self, server, session, envelope):  # noqa: N802  the name that aiosmtpd calls
        self.envelopes.append((envelope, session.ssl is not None))
        return "250 Message accepted for delivery"

    def login(self, server, session, envelope, mechanism, auth):
        self.logins.append((auth.login.decode(), auth.password.decode()))
        return AuthResult(success=auth.password == b"right secret", handled=False)


@contextmanager
def mailing(context=None):
    """Within it a mail server listens on loopback. context: of STARTTLS, without which it does not offer that."""
    letters = Letters()
    (port,) = free_ports(1)  # which the mail server cannot choose itself
    secure = {"tls_context": context, "authenticator": letters.login, "require_starttls": True} if context else {}
    controller = Controller(letters, hostname="127.0.0.1", port=port, **secure)
    controller.start()
    try:
        yield letters, controller.port
    finally:
        controller.stop()
