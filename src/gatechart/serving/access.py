"""Access control: callers with the token or, if the server has none, programs on this machine."""

from __future__ import annotations

import hmac
from base64 import b64decode
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Final

from gatechart.errors.root import DefinitionError, listing
from gatechart.serving.answers import NotServed
from gatechart.values.look_alikes import CLEAR, first_alike, unclear
from gatechart.values.tool_policies import Rate

LEAST_TOKEN: Final = 16  # characters; a shorter token can be guessed

_NOBODY: Final[Mapping[str, str]] = MappingProxyType({})
_LOCAL_NAMES: Final = frozenset({"localhost"})
_OTHER_SITES: Final = frozenset({b"cross-site", b"same-site"})  # values of browsers; all ports of a host are one site


@dataclass(eq=False)
class OpenDoorError(DefinitionError):
    """A server without a token must not listen to other machines."""

    host: str

    def __str__(self) -> str:
        return (
            f"a server on host {self.host!r} needs a token, because other machines can reach it; give it one with "
            "--token-file or GATECHART_TOKEN, or listen on 127.0.0.1"
        )


@dataclass(eq=False)
class TokenError(DefinitionError):
    """The server's token is invalid."""

    source: str
    problem: str

    def __str__(self) -> str:
        return (
            f"invalid token in {self.source}: {self.problem}; use 16 or more visible ASCII characters, such as the "
            "output of `openssl rand -hex 32`"
        )


@dataclass(eq=False)
class TokenFileError(DefinitionError):
    """The file with the server's token cannot be read."""

    file: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the token file {self.file!r} cannot be read: {self.problem}; write the token into it, such as with "
            f"`openssl rand -hex 32`, or name another file with --token-file"
        )


@dataclass(eq=False)
class RegistrantsError(DefinitionError):
    """A file with the tokens of callers is invalid."""

    file: str
    problem: str

    def __str__(self) -> str:
        return (
            f"invalid tokens in {self.file!r}: {self.problem}; write a name and a token of 16 or more characters "
            "on each line, each token once, and give the server another token with --token-file"
        )


@dataclass(eq=False)
class CallerNameError(DefinitionError):
    """The name of a caller with a token could be mistaken for another name."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"a token has the name {self.name!r}: {self.problem}; use {CLEAR}, distinct from the other names"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server on this host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "[::1]", "localhost", "0.0.0.0", "example.org", "")]
    [True, True, True, True, False, False, False]
    """
    name = host.removeprefix("[").removesuffix("]").lower()
    if name in _LOCAL_NAMES:
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


class CallerRole(Enum):
    """The permission of a caller with a token other than the server's."""

    OPERATOR = "do everything, and see stored exceptions in full"
    REGISTRANT = "register and deregister entries of the directory"
    ALARMIST = "raise alarms"


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller whose token has a role."""

    name: str
    role: CallerRole

    @property
    def is_limited(self) -> bool:
        """Whether the caller is limited to one kind of call."""
        return self.role is not CallerRole.OPERATOR


class Access:
    """Checks requests by their headers.

    token: None accepts requests that name this machine as their host.
    registrants, alarmists: tokens by name, limited to registrations in the directory, or to alarms.
    operators: tokens by name that allow everything, and show stored exceptions in full.
    """

    def __init__(
        self,
        token: str | None,
        registrants: Mapping[str, str] = _NOBODY,
        alarmists: Mapping[str, str] = _NOBODY,
        operators: Mapping[str, str] = _NOBODY,
    ) -> None:
        self._expected = None if token is None else token.encode()
        named = (
            (registrants, CallerRole.REGISTRANT),
            (alarmists, CallerRole.ALARMIST),
            (operators, CallerRole.OPERATOR),
        )
        _check_names({name: None for tokens, _ in named for name in tokens})
        self._callers = [
            (Caller(name, role), given.encode()) for tokens, role in named for name, given in tokens.items()
        ]

    @property
    def needs_token(self) -> bool:
        """Whether callers need a token."""
        return self._expected is not None

    def check(self, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Return the caller if the token has a role; None for the server's token, or if no token is needed.

        headers: by name, in lower case; the last one counts. Raises NotServed if access is denied.
        """
        return self._check(headers, _credentials(headers, b"bearer"), _TOKEN_WANTED)

    def check_browser(self, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Check a request for a page, as `check` does: a browser asks a person for the token, as a password.

        Use it only for pages that change nothing, as a browser sends the password with requests of any page.
        """
        return self._check(headers, _credentials(headers, b"bearer") or _password(headers), _PASSWORD_WANTED)

    def _check(self, headers: Mapping[bytes, bytes], token: bytes, wanted: tuple[str, str]) -> Caller | None:
        if self._expected is None:
            _check_host(headers.get(b"host", b"").decode("latin-1"))
            _check_page(headers)
            return None
        may_all = hmac.compare_digest(token, self._expected)
        # Compare every token, so that the duration does not reveal which one nearly matched.
        named = [caller for caller, known in self._callers if hmac.compare_digest(token, known)]
        if not may_all and not named:
            message, challenge = wanted
            raise NotServed(401, "Unauthorized", f"missing or wrong token; {message}", www_authenticate=challenge)
        return None if may_all else named[0]


def _check_names(names: Iterable[str]) -> None:
    """Raise CallerNameError if a name has invisible characters, or looks like another one."""
    known: list[str] = []
    for name in names:
        if problem := _name_problem(name, known):
            raise CallerNameError(name, problem)
        known.append(name)


def _name_problem(name: str, others: Iterable[str]) -> str:
    """Return why a name could be mistaken for another; empty if it is distinct."""
    alike = first_alike(name, others)
    return unclear(name) or (f"it looks like {alike!r}" if alike else "")


_TOKEN_WANTED: Final = ("send the header `Authorization: Bearer TOKEN` with the server's token", "Bearer")
_PASSWORD_WANTED: Final = (
    "reload the page, and give the server's token as the password, with any name",
    'Basic realm="gatechart", charset="UTF-8"',
)


def _password(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the password that a person entered in a browser; empty if there is none."""
    try:
        return b64decode(_credentials(headers, b"basic"), validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _credentials(headers: Mapping[bytes, bytes], scheme: bytes) -> bytes:
    """Return the credentials of this scheme (in lower case); empty if there are none."""
    sent, _, credentials = headers.get(b"authorization", b"").partition(b" ")
    return credentials.strip() if sent.lower() == scheme else b""


class Pace:
    """Limits the rate of calls for each caller."""

    def __init__(
        self,
        rate: Rate,
        now: Callable[[], float] = monotonic,
        *,
        may: str = "register",
        error: str = "TooManyRegistrations",
    ) -> None:
        """Create a limit. now: a monotonic clock, in seconds. may, error: action and error name for refusals."""
        self._rate = rate
        self._may = may
        self._error = error
        self._now = now
        self._times: dict[str, deque[float]] = {}

    def check(self, caller: str) -> None:
        """Count a call. Raises NotServed if it exceeds the rate."""
        now, times = self._now(), self._times.setdefault(caller, deque())
        while times and times[0] <= now - self._rate.per_s:
            times.popleft()
        if len(times) >= self._rate.calls:
            wait_s = max(1, round(times[0] + self._rate.per_s - now))
            often = f"{self._rate.calls} times in {self._rate.per_s:g} s"
            problem = f"{caller!r} may {self._may} {often}; try again in {wait_s} s"
            raise NotServed(429, self._error, problem, retry_after=str(wait_s))
        times.append(now)


def _check_host(host: str) -> None:
    """Refuse web pages whose host name resolves to this machine (DNS rebinding)."""
    if not _is_here(host):
        raise NotServed(
            403,
            "ForeignHost",
            f"host {host!r} is not this machine, and a server without a token answers only to this machine; "
            "use 127.0.0.1 or localhost, or give the server a token",
        )


def _check_page(headers: Mapping[bytes, bytes]) -> None:
    """Refuse web pages of other sites, which can make a browser on this machine send simple requests (CSRF)."""
    origin = headers.get(b"origin")
    is_foreign = origin is not None and not _is_here(origin.decode("latin-1").partition("://")[2])
    if is_foreign or headers.get(b"sec-fetch-site", b"").lower() in _OTHER_SITES:
        raise NotServed(
            403,
            "ForeignPage",
            "the request comes from a web page of another site, which a server without a token refuses; "
            "send it from a program, or give the server a token",
        )


def _is_here(authority: str) -> bool:
    """Whether a host, with or without a port, is this machine."""
    return is_loopback(authority.partition("]")[0] if authority.startswith("[") else authority.partition(":")[0])


def read_token(file: Path | None, given: str | None, variable: str) -> str | None:
    """Read the token from the file, else from the environment variable; None if both are missing.

    Raises TokenFileError, and TokenError.
    """
    if file is None:
        return None if given is None else _checked_token(given, variable)
    try:
        text = file.read_text(encoding="ascii")
    except OSError as error:
        raise TokenFileError(str(file), error.strerror or str(error)) from error
    except UnicodeError as error:
        raise TokenError(str(file), "it has characters that an HTTP header cannot hold") from error
    return _checked_token(text.strip(), str(file))


def read_registrants(file: Path | None, token: str | None, others: Iterable[str] = ()) -> Mapping[str, str]:
    """Read the tokens of registrants, of alarmists or of operators, by name.

    token: the server's. others: tokens of other files; no token may be shared.
    Raises TokenError and RegistrantsError.
    """
    if file is None:
        return _NOBODY
    named: dict[str, str] = {}
    for line in _lines_of(file):
        if len(line) != 2:
            fault = "has no token" if len(line) == 1 else "has more than a name and a token"
            raise RegistrantsError(str(file), f"the line that starts with {line[0]!r} {fault}")
        name, given = line
        if problem := "it is listed twice" if name in named else _name_problem(name, named):
            raise RegistrantsError(str(file), f"the name {name!r}: {problem}")
        named[name] = _checked_token(given, f"{file}, of {name!r}")
    if token is None:
        raise RegistrantsError(str(file), "the server itself has no token")
    known = Counter([token, *named.values(), *others])
    if shared := tuple(name for name, secret in named.items() if known[secret] > 1):
        raise RegistrantsError(str(file), f"tokens must be unique, and these are not: {listing(shared)}")
    return named


def _lines_of(file: Path) -> Sequence[Sequence[str]]:
    """Return the words of each line that is not blank, at least one line."""
    try:
        lines = [line.split() for line in file.read_text(encoding="ascii").splitlines() if line.strip()]
    except OSError as error:
        raise RegistrantsError(str(file), f"the file cannot be read: {error.strerror or error}") from error
    except UnicodeError as error:
        raise RegistrantsError(str(file), "the file has characters that an HTTP header cannot hold") from error
    if not lines:
        raise RegistrantsError(str(file), "the file is empty")
    return lines


def _checked_token(token: str, source: str) -> str:
    if len(token) < LEAST_TOKEN:
        raise TokenError(source, f"it has only {len(token)} characters")
    if not all("!" <= character <= "~" for character in token):
        raise TokenError(source, "it has characters that an HTTP header cannot hold")
    return token
