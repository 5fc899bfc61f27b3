# SPDX-License-Identifier: Apache-2.0
"""Requests that a session sends by a function of the program."""
from __future__ import annotations

from ctypes import byref, c_char_p
from dataclasses import dataclass, field
from typing import Any, Callable, List, Mapping, Optional, Tuple, Union

from . import _library
from ._constants import Purpose, known
from ._errors import Unavailable


@dataclass(frozen=True)
class Request:
    """A request to the session's server. body: a form. token: the token that the request is about."""

    purpose: Union[Purpose, int]
    service: str
    account: str
    method: str
    url: Optional[str]
    headers: List[Tuple[str, str]] = field(repr=False)
    body: bytes = field(repr=False)
    token: str = field(repr=False)


@dataclass(frozen=True)
class Response:
    """The server's answer. The headers Date and Retry-After count."""

    status: int
    body: Union[str, bytes] = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


# Sends a request, on the thread of the call that needs the answer. `Unavailable`: nothing was sent. Any other exception:
# the server may have got the request.
HTTPHandler = Callable[[Request], Response]


def asking(http: HTTPHandler) -> Callable[..., int]:
    """The C function of a handler. The handler's exception is raised by the call that needed the answer."""

    def ask(_: Any, request: Any, response: Any) -> int:
        try:
            _answer(http(_request(request)), response)
            return _library.OK
        except Unavailable:
            return Unavailable.status
        except BaseException as exception:  # pylint: disable=broad-exception-caught
            _library.raised.exception = exception
            return 14

    return ask


def _request(pointer: Any) -> Request:
    def get(name: str) -> Any:
        return _library.get(f"http_request_{name}", pointer)

    headers = []
    for index in range(get("header_count")):
        name, value = c_char_p(), c_char_p()
        if _library.get("http_request_header_at", pointer, index, byref(name), byref(value)):
            headers.append(((name.value or b"").decode("utf-8"), (value.value or b"").decode("utf-8")))
    return Request(
        known(Purpose, get("purpose")), *((get(name) or b"").decode() for name in ("service", "account", "method")),
        _library.text(get("url")), headers, _library.copied("http_request_body", pointer) or b"",
        (_library.copied("http_request_token", pointer) or b"").decode("utf-8"))


def _answer(answer: Response, response: Any) -> None:
    # All is checked before the library gets any of the answer.
    headers = [(_library.name_bytes(name, "a header's name"), _library.name_bytes(value, f"the header {name}"))
               for name, value in answer.headers.items()]
    data, length = _library.buffer(answer.body)
    _library.get("http_response_status", response, _library.in_range(answer.status, 0, 2**32 - 1, "the response's status"))
    for name, value in headers:
        _library.get("http_response_header", response, name, value)
    _library.get("http_response_append", response, data, length)
