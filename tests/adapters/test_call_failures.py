import asyncio
import errno
import socket
import ssl
import urllib.error

import httpx2
import pytest

from phaseloop.adapters.call_failures import Failure, classify, sentence
from phaseloop.adapters.tool_errors import NothingSent, RetryWithOtherArguments, ToolError, ToolUnavailable

UNSENT = Failure("network", transient=True, unsent=True)
CUT = Failure("network", transient=True, unsure=True)


def status_error(status):
    request = httpx2.Request("POST", "http://127.0.0.1/")
    return httpx2.HTTPStatusError("no", request=request, response=httpx2.Response(status, request=request))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("x"), Failure()),
        (FileNotFoundError("x"), Failure()),
        (ToolError("x"), Failure("tool")),
        (RetryWithOtherArguments("x"), Failure("tool")),
        (ToolUnavailable("x"), Failure("unavailable", transient=True)),
        (NothingSent("x"), Failure("unavailable", transient=True, unsent=True)),
        (ConnectionRefusedError(), UNSENT),
        (socket.gaierror("no such host"), UNSENT),
        (OSError(errno.ENETUNREACH, "no route"), UNSENT),
        (ConnectionResetError(), CUT),
        (BrokenPipeError(), CUT),
        (OSError(errno.ETIMEDOUT, "late"), Failure("timeout", transient=True, unsure=True)),
        (TimeoutError(), Failure("timeout", transient=True, unsure=True)),
        (asyncio.IncompleteReadError(b"", 1), CUT),
        (ssl.SSLCertVerificationError("expired"), Failure("network", unsent=True)),
        (ssl.SSLEOFError("eof"), CUT),
        (urllib.error.URLError(ConnectionRefusedError()), UNSENT),
        (urllib.error.HTTPError("http://h", 503, "busy", None, None), Failure("http", transient=True)),
        (status_error(404), Failure("http")),
        (status_error(504), Failure("http", transient=True, unsure=True)),
        (httpx2.ConnectError("x"), UNSENT),
        (httpx2.ConnectTimeout("x"), UNSENT),
        (httpx2.ReadTimeout("x"), CUT),
        (httpx2.RemoteProtocolError("x"), CUT),
        (ExceptionGroup("g", [ConnectionRefusedError()]), UNSENT),
        (ExceptionGroup("g", [ConnectionRefusedError(), ConnectionResetError()]), CUT),
        (ExceptionGroup("g", [ValueError(), ConnectionResetError()]), Failure("exception", unsure=True)),
    ],
)
def test_an_exception_says_whether_to_repeat_and_whether_it_may_have_happened(error, expected):
    assert classify(error) == expected


def test_a_sentence_names_tool_and_exception_and_never_more_than_one_line():
    assert sentence("search", ValueError("a\n  b")) == "search raised ValueError: a b"
    assert sentence("search", ValueError()) == "search raised ValueError"
    assert sentence("search", ToolError("no such city")) == "search: no such city"
    assert len(sentence("search", ValueError("x" * 9_999))) < 600
    group = ExceptionGroup("many", [ValueError("a"), KeyError("b")])
    assert sentence("search", group) == "search raised ExceptionGroup: ValueError: a; KeyError: 'b'"


def test_an_exception_whose_text_fails_is_still_told():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    assert sentence("search", Broken()) == "search raised Broken: (its message cannot be read: RuntimeError)"
