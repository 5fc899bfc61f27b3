# SPDX-License-Identifier: Apache-2.0
"""Signing in."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple, Union

from . import _library, _sessions
from ._constants import Flow, known
from ._errors import Invalid
from ._library import call, name_bytes, optional_bytes

CANCELLED, ANY_ACCOUNT = 5, 1


class LoginStep(NamedTuple):
    """A step of a sign-in, for the function `show` of `Store.login`, whose options are, all by keyword:

    provider: the name of the provider's file; needed. show: shows a step and must not wait for the user; needed. For a step
    PASTE, which comes about four times a second, the function returns the pasted address, or None while there is none. An
    exception ends the sign-in. scope, resource, audience: of the request. flow: a `Flow`. timeout: seconds for the sign-in as
    a whole; None: 300. any_account: keeps the session whoever signs in.
    """

    kind: Union[Flow, int]
    url: str
    user_code: Optional[str]


StepHandler = Callable[[LoginStep], Union[str, None]]


def signed_in(store: Any, service: str, account: Optional[str], prompt: Any, options: Dict[str, Any]) -> _sessions.Session:
    """Signs in on a store. prompt: the store's callback, which must live as long as the session."""
    structure, callback = _options(**options)
    session = c_void_p()
    call("login", store, name_bytes(service, "service"), optional_bytes(account, "account"), byref(structure), byref(session))
    return _sessions.Session(session, (prompt, callback))


def _options(
    *, provider: str, show: StepHandler, scope: Optional[str] = None, resource: Optional[str] = None,
    audience: Optional[str] = None, flow: Union[Flow, int] = Flow.CHOOSE, timeout: Optional[float] = None,
    any_account: bool = False,
) -> Tuple[_library.LoginOptions, Any]:
    callback = _library.LoginFunction(_showing(show))
    return _library.LoginOptions(
        struct_size=ctypes.sizeof(_library.LoginOptions), provider=name_bytes(provider, "provider"),
        scope=optional_bytes(scope, "scope"), resource=optional_bytes(resource, "resource"),
        audience=optional_bytes(audience, "audience"), flow=_library.in_range(int(flow), 0, 2**32 - 1, "flow"),
        timeout_ms=_library.milliseconds(timeout), show=callback, flags=ANY_ACCOUNT if any_account else 0), callback


def _showing(show: StepHandler) -> Callable[..., int]:
    """The C function of `show`. The exception of `show` is raised by the sign-in."""

    def show_step(_: Any, step: Any, answer: int, capacity: int, length: Any) -> int:
        try:
            pasted = show(LoginStep(
                known(Flow, _library.get("login_step_kind", step)), _library.text(_library.get("login_step_url", step)) or "",
                _library.text(_library.get("login_step_user_code", step))))
            # Only a step that takes an answer has a buffer.
            if pasted and answer:
                data, count = _library.buffer(pasted)
                if count > capacity:
                    raise Invalid(f"the pasted address is longer than {capacity} bytes")
                ctypes.memmove(answer, data, count)
                length[0] = count
            return _library.OK
        except BaseException as exception:  # pylint: disable=broad-exception-caught
            _library.raised.exception = exception
            return CANCELLED

    return show_step
