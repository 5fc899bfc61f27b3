# SPDX-License-Identifier: Apache-2.0
"""Sessions: tokens that stay fresh, in every thread and every process."""
from __future__ import annotations

import ctypes
import json
from ctypes import byref, c_uint32, c_void_p
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from . import _items, _library
from ._constants import Level, Reason, Result, Rotation, SessionKind, State, known
from ._errors import Error, NotFound
from ._handles import Closing, Handle
from ._http import HTTPHandler, asking
from ._library import call, in_range, name_bytes, optional_bytes

HEARTBEAT, LOCAL_ONLY = 1, 1

# Functions of hooks: a hook may run beyond its 10 seconds, also after its session was closed.
_hooks: List[Any] = []


class SessionInfo(NamedTuple):
    """A session without its tokens. Times are Unix seconds, None if unknown."""

    service: str
    account: str
    provider: Optional[str]
    scope: Optional[str]
    state: Union[State, int]
    reason: Union[Reason, int]
    is_active: bool
    can_renew: bool
    expires_at: Optional[int]
    validated_at: Optional[int]
    cool_down_until: Optional[int]
    generation: int


class SessionInfos(List[SessionInfo]):
    """Listed sessions. problem: the error that left the list incomplete, or None."""

    problem: Optional[Error] = None


class Token(Closing):
    """An access token. expires_in: seconds left when the token was returned, -1 if unknown. is_short: whether the token
    ends sooner than min_ttl, because no longer token could be had."""

    def __init__(self, pointer: Any) -> None:
        self._handle = Handle(pointer, "token_free", "the token")
        self.type: str = (_library.get("token_type", pointer) or b"").decode()
        self.scope: Optional[str] = _library.text(_library.get("token_scope", pointer))
        self.expires_in: int = _library.get("token_expires_in", pointer)
        self.generation: int = _library.get("token_generation", pointer)
        self.is_short = bool(_library.get("token_is_short", pointer))

    @property
    def value(self) -> str:
        """A copy of the token, which Python does not wipe."""
        with self._handle as pointer:
            return (_library.copied("token_value", pointer) or b"").decode("utf-8")

    def __repr__(self) -> str:
        return f"<tokenkeep.Token {self.type}, generation {self.generation}>"


class Session(Closing):
    """The session of an account. `Store.session` opens one, with these options, all by keyword:

    provider, refresh_url, client_id: as in include/tokenkeep/session.h. rotation, overlap: what the server does with a used
    refresh token; seconds. level, refresh_level: of the session's item and of its refresh token. timeout: seconds for each
    call as a whole; None: 35. heartbeat: whether step() validates. http: sends requests (`HTTPHandler`); None: libcurl.
    """

    def __init__(self, pointer: Any, callbacks: Tuple[Any, ...]) -> None:
        self._callbacks = callbacks
        self._handle = Handle(pointer, "session_close", "the session")

    def begin(self, response: Union[str, bytes], kind: SessionKind = SessionKind.USER) -> None:
        """Begins a session with the server's token response as it came, a JSON object or a form."""
        data, length = _library.buffer(response)
        self._call("session_begin", in_range(int(kind), 0, 2**32 - 1, "kind"), data, length)

    def hydrate(self, access_token: str, refresh_token: str, expires_in: int = -1) -> None:
        """Begins a user's session with tokens from elsewhere. expires_in: seconds, -1 if unknown."""
        self._call("session_hydrate", name_bytes(access_token, "access_token"), name_bytes(refresh_token, "refresh_token"),
                   in_range(expires_in, -1, 2**63 - 1, "expires_in"))

    def token(self, min_ttl: int = 60, *, resource: Optional[str] = None, scope: Optional[str] = None) -> Token:
        """An access token that lasts min_ttl seconds, renewed if the token ends soon.

        resource, scope: a token for a resource (RFC 8707), for fewer scopes, or for both.
        """
        seconds = in_range(min_ttl, 0, 2**32 - 1, "min_ttl")
        if resource is None and scope is None:
            return self._token("session_token", seconds)
        return self._token(
            "session_token_for", optional_bytes(resource, "resource"), optional_bytes(scope, "scope"), seconds)

    def refresh(self) -> Token:
        """Renews the token now. A renewal by another process meanwhile counts."""
        return self._token("session_refresh")

    def rejected(self, refused: Token) -> Token:
        """A token in place of a token that the server refused with 401. Retry the server once."""
        with refused._handle as pointer:
            return self._token("session_rejected", pointer)

    def validate(self) -> None:
        """Asks the server whether it still accepts the access token."""
        self._call("session_validate")

    def extend(self, seconds: int) -> None:
        """Asks the server to let the session last so much longer: 300 to 31536000 seconds."""
        self._call("session_extend", in_range(seconds, 0, 2**32 - 1, "seconds"))

    def profile(self) -> Any:
        """The application's profile beside the tokens, a JSON object."""
        profile = c_void_p()
        self._call("session_profile", byref(profile))
        with _items.loaded(profile) as item:
            return json.loads(item.secret)

    def set_profile(self, profile: Dict[str, Any]) -> None:
        """Replaces the profile: at most 64 KiB of JSON."""
        data, length = _library.buffer(json.dumps(profile))
        self._call("session_set_profile", data, length)

    def state(self) -> SessionInfo:
        """The state of the session. Asks no server. A locked place is a state, no failure."""
        return self._info("session_state")

    def next(self) -> Optional[SessionInfo]:
        """The state if it differs from the last answer of this function on this object, else None."""
        try:
            return self._info("session_next")
        except NotFound:
            return None

    def fileno(self) -> int:
        """A descriptor that becomes readable after a change: then call next() until it returns None."""
        with self._handle as pointer:
            return int(_library.get("session_fd", pointer))

    def step(self) -> float:
        """Does what is due now, and returns the seconds until the next step."""
        pause = c_uint32()
        self._call("session_step", byref(pause))
        return pause.value / 1000

    def end(self, *, local_only: bool = False) -> List[Tuple[str, Union[Result, int]]]:
        """Ends the session for every process, also offline; runs the hooks; then revokes the token, or queues it.

        Returns the hooks' results, and "revocation" last if a token was to be revoked. local_only: nothing is sent.
        """
        report = c_void_p()
        self._call("session_end", LOCAL_ONLY if local_only else 0, byref(report))
        try:
            return [
                ((_library.get("session_report_name", report, index) or b"").decode(),
                 known(Result, _library.get("session_report_result", report, index)))
                for index in range(_library.get("session_report_count", report))]
        finally:
            _library.get("session_report_free", report)

    def on_end(self, name: str, hook: Callable[[str, str, Union[Reason, int]], None], order: int = 0) -> None:
        """Adds a hook that runs when this object ends the session, lower orders first, on a thread of its own.

        The hook gets service, account and reason. An exception, or 10 seconds, are noted as failed.
        """

        def run(_: Any, service: Optional[bytes], account: Optional[bytes], reason: int) -> int:
            try:
                hook((service or b"").decode(), (account or b"").decode(), known(Reason, reason))
                return _library.OK
            except BaseException:  # pylint: disable=broad-exception-caught
                return 17

        function = _library.EndFunction(run)
        _hooks.append(function)
        self._call("session_on_end", name_bytes(name, "name"), in_range(order, 0, 2**32 - 1, "order"), function, None)

    def _call(self, name: str, *arguments: Any) -> None:
        with self._handle as pointer:
            call(name, pointer, *arguments)

    def _token(self, name: str, *arguments: Any) -> Token:
        token = c_void_p()
        self._call(name, *arguments, byref(token))
        return Token(token)

    def _info(self, name: str) -> SessionInfo:
        info = c_void_p()
        self._call(name, byref(info))
        try:
            return _info_of(info)
        finally:
            _library.get("session_info_free", info)


def opened(store: Any, service: str, account: Optional[str], prompt: Any, options: Dict[str, Any]) -> Session:
    """Opens a session of a store. prompt: the store's callback, which must live as long as the session."""
    structure, callback = _options(**options)
    session = c_void_p()
    call("session_open", store, name_bytes(service, "service"), optional_bytes(account, "account"), byref(structure),
         byref(session))
    return Session(session, (prompt, callback))


def listed(store: Any, service: Optional[str]) -> SessionInfos:
    """The sessions of a store."""
    pointer = c_void_p()
    call("session_list", store, optional_bytes(service, "service"), byref(pointer))
    try:
        count = _library.get("session_infos_count", pointer)
        infos = SessionInfos(_info_of(_library.get("session_infos_at", pointer, index)) for index in range(count))
        infos.problem = _items.problem_of(_library.get("session_infos_problem", pointer))
        return infos
    finally:
        _library.get("session_infos_free", pointer)


def _options(
    *, provider: Optional[str] = None, refresh_url: Optional[str] = None, client_id: Optional[str] = None,
    rotation: Union[Rotation, int] = Rotation.STRICT, overlap: int = 0, level: Union[Level, int] = Level.DEFAULT,
    refresh_level: Union[Level, int] = Level.DEFAULT, timeout: Optional[float] = None, heartbeat: bool = False,
    http: Optional[HTTPHandler] = None,
) -> Tuple[_library.SessionOptions, Any]:
    callback = _library.HTTPFunction(asking(http)) if http else _library.HTTPFunction()
    numbers = {"rotation": rotation, "overlap_s": overlap, "accessibility": level, "refresh_accessibility": refresh_level}
    return _library.SessionOptions(
        struct_size=ctypes.sizeof(_library.SessionOptions), provider=optional_bytes(provider, "provider"),
        refresh_url=optional_bytes(refresh_url, "refresh_url"), client_id=optional_bytes(client_id, "client_id"),
        timeout_ms=_library.milliseconds(timeout), flags=HEARTBEAT if heartbeat else 0, http=callback,
        **{name: in_range(int(number), 0, 2**32 - 1, name) for name, number in numbers.items()}), callback


def _info_of(pointer: Any) -> SessionInfo:
    def get(name: str) -> Any:
        return _library.get(f"session_info_{name}", pointer)

    return SessionInfo(
        (get("service") or b"").decode(), (get("account") or b"").decode(), _library.text(get("provider")),
        _library.text(get("scope")), known(State, get("state")), known(Reason, get("reason")), bool(get("is_active")),
        bool(get("can_renew")), get("expires_at") or None, get("validated_at") or None, get("cool_down_until") or None,
        get("generation"))
