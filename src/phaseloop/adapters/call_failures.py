"""Tells what an exception of a tool means: may a repeat help, and may the effect have happened."""

import asyncio
import errno
import socket
import ssl
from dataclasses import dataclass
from typing import Any, cast

from phaseloop.adapters.tool_errors import NothingSent, ToolError, ToolUnavailable

_UNSENT_ERRNO = frozenset({errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})
_CUT_ERRNO = frozenset({errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE, errno.ETIMEDOUT, errno.ENETRESET})
# HTTP clients raise errors of their own, most of them outside OSError. Names are compared, so that none of
# these libraries has to be installed.
_CLIENTS = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3", "aiohttp"})
_UNSENT_NAMES = frozenset(
    {"ConnectError", "ConnectTimeout", "PoolTimeout", "ClientConnectorError", "NewConnectionError"}
)
_CUT_NAMES = frozenset(
    {
        *("TransportError", "TimeoutException", "NetworkError", "RemoteProtocolError"),
        *("Timeout", "ConnectionError", "ChunkedEncodingError", "ProtocolError"),
        *("ClientConnectionError", "ServerTimeoutError", "ClientPayloadError"),
    }
)
_BUSY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})  # a repeat of a read may succeed: RFC 9110, RFC 6585
_UNSURE_STATUS = frozenset({408, 502, 504})  # a gateway answered, the server behind it may have acted
_LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """`transient`: a repeat may help. `unsent`: nothing left. `unsure`: the effect may have happened."""

    kind: str = "exception"
    transient: bool = False
    unsent: bool = False
    unsure: bool = False


_UNSENT = Failure("network", transient=True, unsent=True)
_CUT = Failure("network", transient=True, unsure=True)


def classify(error: BaseException) -> Failure:
    """What `error` means for the call that raised it."""
    if isinstance(error, BaseExceptionGroup):
        return _group(cast("BaseExceptionGroup[BaseException]", error))
    if isinstance(error, NothingSent):
        return Failure("unavailable", transient=True, unsent=True)
    if isinstance(error, ToolError):
        away = isinstance(error, ToolUnavailable)
        return Failure("unavailable" if away else "tool", transient=away)
    status = _status(error)
    if status:
        return Failure("http", transient=status in _BUSY_STATUS, unsure=status in _UNSURE_STATUS)
    return _client(error) or _system(error)


def sentence(tool: str, error: BaseException) -> str:
    """One clear sentence without a traceback; a tool's own `ToolError` speaks for itself."""
    said = " ".join(_message(error).split())
    said = said if len(said) <= _LONGEST_MESSAGE else said[:_LONGEST_MESSAGE] + " …"
    if isinstance(error, ToolError):
        return f"{tool}: {said or 'it could not do what was asked'}"
    return f"{tool} raised {type(error).__name__}: {said}" if said else f"{tool} raised {type(error).__name__}"


def _message(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return "; ".join(f"{type(inner).__name__}: {_message(inner)}" for inner in group.exceptions)
    try:
        return str(error)
    except Exception as broken:
        return f"(its message cannot be read: {type(broken).__name__})"


def _group(group: BaseExceptionGroup[BaseException]) -> Failure:
    """The worst of its members: all must be harmless for the whole to be."""
    inner = [classify(error) for error in group.exceptions]
    return Failure(
        kind=inner[0].kind if len({failure.kind for failure in inner}) == 1 else "exception",
        transient=all(failure.transient for failure in inner),
        unsent=all(failure.unsent for failure in inner),
        unsure=any(failure.unsure for failure in inner),
    )


def _status(error: BaseException) -> int:
    """The HTTP status an error of an HTTP client carries, or 0."""
    response: Any = getattr(error, "response", None)
    names = {kind.__name__ for kind in type(error).__mro__}
    if not names & {"HTTPStatusError", "HTTPError", "ClientResponseError"}:
        return 0
    for holder, name in ((response, "status_code"), (error, "code"), (error, "status")):
        status = getattr(holder, name, None)
        if isinstance(status, int):
            return status
    return 0


def _client(error: BaseException) -> Failure | None:
    names = {kind.__name__ for kind in type(error).__mro__ if kind.__module__.split(".")[0] in _CLIENTS}
    if names & _UNSENT_NAMES:
        return _UNSENT
    return _CUT if names & _CUT_NAMES else None


def _system(error: BaseException) -> Failure:
    if isinstance(error, TimeoutError):
        return Failure("timeout", transient=True, unsure=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        return Failure("network", unsent=True)
    if isinstance(error, ConnectionRefusedError | socket.gaierror):
        return _UNSENT
    if isinstance(error, ConnectionError | ssl.SSLError | asyncio.IncompleteReadError):
        return _CUT
    if not isinstance(error, OSError):
        return Failure()
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        return classify(reason)
    if error.errno in _UNSENT_ERRNO:
        return _UNSENT
    return _CUT if error.errno in _CUT_ERRNO else Failure()
