# SPDX-License-Identifier: Apache-2.0
"""Stores."""
from __future__ import annotations

import ctypes
import datetime
import weakref
from contextlib import ExitStack
from ctypes import byref, c_char, c_size_t, c_uint64, c_void_p
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Union

from . import _items, _library, _login, _sessions
from ._constants import Axis, Level, PromptKind, SaveFlag, Strength, known
from ._errors import Invalid
from ._handles import Closing, Handle
from ._items import Item, Items
from ._library import call, in_range, name_bytes, optional_bytes
from ._watch import Watch

Secret = Union[str, bytes, bytearray, memoryview]
CANCELLED, INTERACTIVE = 5, 1


class Prompt(NamedTuple):
    """A question to the user. attempt: 1; 2 after a wrong answer, ..."""

    kind: Union[PromptKind, int]
    attempt: int
    message: str
    service: str
    account: str


class Synced(NamedTuple):
    """The numbers of drained and of still pending items."""

    drained: int
    left: int


class Protection(NamedTuple):
    """The strength on one axis, and the mechanism or the reason in words."""

    strength: Union[Strength, int]
    mechanism: str


PromptHandler = Callable[[Prompt], Union[str, bytes, None]]


class Store(Closing):
    """A store of items. Any thread may use a store; in a child made by fork() each call raises `Forked`.

    stack: the name of a configured stack, or a stack in place ("any required vault"). timeout: seconds for each call as a
    whole; None: 5, with prompts 120. interactive: lets modules ask the user. prompt: answers the vault's questions, on the
    thread of the call; None or an exception refuses, and the exception ends the call. Needs interactive.

    Opening a store reads the configuration, and touches neither bus nor vault.
    """

    def __init__(
        self, stack: Optional[str] = None, namespace: str = "", timeout: Optional[float] = None, interactive: bool = False,
        *, prompt: Optional[PromptHandler] = None,
    ) -> None:
        if prompt is not None and not interactive:
            raise Invalid("prompt needs interactive=True")
        options = _library.OpenOptions(struct_size=ctypes.sizeof(_library.OpenOptions))
        if stack is not None:
            is_text = any(character.isspace() for character in stack)
            setattr(options, "stack_text" if is_text else "stack", name_bytes(stack, "stack"))
        options.name_space = name_bytes(namespace, "namespace")
        options.timeout_ms = _library.milliseconds(timeout)
        options.flags = INTERACTIVE if interactive else 0
        # The library calls the function as long as the store or a session of the store lives.
        self._callback = _library.PromptFunction(_answering(prompt)) if prompt else _library.PromptFunction()
        options.prompt = self._callback
        self._sessions: weakref.WeakSet[_sessions.Session] = weakref.WeakSet()
        pointer = c_void_p()
        call("open", byref(options), byref(pointer))
        self._handle = Handle(pointer, "close", "the store")

    def save(
        self, service: str, account: str, secret: Secret, *, label: Optional[str] = None,
        level: Union[Level, int] = Level.DEFAULT, attributes: Optional[Mapping[str, str]] = None,
        expires_at: Union[int, datetime.datetime, None] = None, if_version: Optional[int] = None, if_absent: bool = False,
        require_enforced: bool = False, user_presence: bool = False, synchronizable: bool = False,
        keep_when_locked: bool = False,
    ) -> int:
        """Saves a secret, replacing an existing item, and returns the new version.

        A str is saved as UTF-8. expires_at: Unix seconds, or a datetime with a time zone. if_version: saves only over this
        version, else `Conflict`. if_absent: saves only a new item, else `Duplicate`. The other flags are those of
        include/tokenkeep/types.h. When the call returns, the item survives a crash and a loss of power.
        """
        version = c_uint64()
        options = _library.SaveOptions(
            struct_size=ctypes.sizeof(_library.SaveOptions), accessibility=in_range(int(level), 0, 2**32 - 1, "level"),
            label=optional_bytes(label, "label"), expires_at=_expiry(expires_at), saved_version=ctypes.pointer(version))
        # A product with an int of 2 would be another flag.
        options.flags = (
            SaveFlag.REQUIRE_ENFORCED * bool(require_enforced) | SaveFlag.USER_PRESENCE * bool(user_presence)
            | SaveFlag.SYNCHRONIZABLE * bool(synchronizable) | SaveFlag.IF_ABSENT * bool(if_absent)
            | SaveFlag.KEEP_WHEN_LOCKED * bool(keep_when_locked))
        if if_version is not None:
            options.expected_version = in_range(if_version, 1, 2**64 - 1, "if_version")
        pairs = [(name_bytes(name, "an attribute's name"), name_bytes(value, f"the attribute {name}"))
                 for name, value in (attributes or {}).items()]
        if pairs:
            options.attributes = (_library.Attribute * len(pairs))(*pairs)
            options.attribute_count = len(pairs)
        data, length = _library.buffer(secret)
        with self._handle as store:
            call("save", store, name_bytes(service, "service"), name_bytes(account, "account"), data, length, byref(options))
        return version.value

    def load(self, service: str, account: str) -> Item:
        """Loads an item, expired or not: see `Item.is_expired`. Raises `NotFound` if every module says so."""
        item = c_void_p()
        with self._handle as store:
            call("load", store, name_bytes(service, "service"), name_bytes(account, "account"), byref(item))
        return _items.loaded(item)

    def clear(self, service: str, account: str, *, if_version: Optional[int] = None) -> None:
        """Clears an item; a missing item is no failure. if_version: only this version, else `Conflict`."""
        names = name_bytes(service, "service"), name_bytes(account, "account")
        with self._handle as store:
            if if_version is None:
                call("clear", store, *names)
            else:
                call("clear_if", store, *names, in_range(if_version, 1, 2**64 - 1, "if_version"))

    def clear_service(self, service: str) -> int:
        """Clears every item of a service and returns their number."""
        cleared = c_size_t()
        with self._handle as store:
            call("clear_service", store, name_bytes(service, "service"), byref(cleared))
        return cleared.value

    def list(self, service: Optional[str] = None) -> Items:
        """The items of a service, or of all, without their secrets. See `Items.problem`."""
        items = c_void_p()
        with self._handle as store:
            call("list", store, optional_bytes(service, "service"), byref(items))
        return _items.listed(items)

    def sync(self) -> Synced:
        """Drains the pending writes and removals of the store's modules."""
        drained, left = c_size_t(), c_size_t()
        with self._handle as store:
            call("sync", store, byref(drained), byref(left))
        return Synced(drained.value, left.value)

    def ready(self, for_saving: bool = False) -> None:
        """Checks whether items can be loaded now, or saved. Never prompts, and returns within two seconds
        after the key of a given password was derived.

        Raises `Locked` if the user must unlock something first, `Unavailable` or `TimedOut` if a module cannot be reached."""
        with self._handle as store:
            call("ready", store, int(for_saving))

    def watch(self, service: Optional[str] = None) -> Watch:
        """Begins to watch the items of a service, or of all services."""
        watch = c_void_p()
        with self._handle as store:
            call("watch_open", store, optional_bytes(service, "service"), byref(watch))
        return Watch(watch)

    def unlock(self, password: Secret) -> None:
        """Unlocks the vault for every process of the user. `Denied`: the password is wrong."""
        data, length = _library.buffer(password)
        with self._handle as store:
            call("unlock", store, data, length)

    def lock(self) -> None:
        """Locks the vault for every process of the user."""
        with self._handle as store:
            call("lock", store)

    def cancel(self) -> None:
        """Cancels the calls in flight on the store, which raise `Cancelled`. From any thread."""
        with self._handle as store:
            _library.get("cancel", store)

    def protection(self, level: Union[Level, int] = Level.DEFAULT, *, user_presence: bool = False) -> Dict[Axis, Protection]:
        """The present protection of an item of this level in this stack and on this machine."""
        protection = c_void_p()
        with self._handle as store:
            call("protection_for", store, in_range(int(level), 0, 2**32 - 1, "level"),
                 SaveFlag.USER_PRESENCE if user_presence else 0, byref(protection))
        try:
            return {axis: Protection(
                known(Strength, _library.get("protection_axis", protection, axis)),
                _library.text(_library.get("protection_mechanism", protection, axis)) or "") for axis in Axis}
        finally:
            _library.get("protection_free", protection)

    def device_id(self) -> str:
        """The id of this user on this machine, a random UUID that every logout keeps."""
        device = (c_char * 37)()
        with self._handle as store:
            call("device_id", store, byref(device))
        return device.value.decode()

    def session(self, service: str, account: Optional[str] = None, **options: Any) -> _sessions.Session:
        """Opens the session of an account, or of the service's active account. The options: see `Session`."""
        with self._handle as store:
            session = _sessions.opened(store, service, account, self._callback, options)
        self._sessions.add(session)
        return session

    def login(self, service: str, account: Optional[str] = None, **options: Any) -> _sessions.Session:
        """Signs a user in and begins the session. The options: see `tokenkeep.LoginStep`."""
        with self._handle as store:
            session = _login.signed_in(store, service, account, self._callback, options)
        self._sessions.add(session)
        return session

    def sessions(self, service: Optional[str] = None) -> _sessions.SessionInfos:
        """The sessions of a service, or of all services. Reads no token."""
        with self._handle as store:
            return _sessions.listed(store, service)

    def switch_session(self, service: str, account: str) -> None:
        """Makes an account the active account of its service."""
        with self._handle as store:
            call("session_switch", store, name_bytes(service, "service"), name_bytes(account, "account"))

    def flush_sessions(self) -> Synced:
        """Revokes the tokens of earlier logouts that still wait: how many were revoked, and how many still wait."""
        sent, left = c_size_t(), c_size_t()
        with ExitStack() as open_sessions:
            store = open_sessions.enter_context(self._handle)
            # The library calls their http functions: no thread may close one meanwhile.
            for session in list(self._sessions):
                try:
                    open_sessions.enter_context(session._handle)
                except ValueError:
                    continue
            call("session_flush", store, byref(sent), byref(left))
        return Synced(sent.value, left.value)


def _expiry(moment: Union[int, datetime.datetime, None]) -> int:
    if moment is None:
        return 0
    if isinstance(moment, datetime.datetime):
        if moment.tzinfo is None:
            raise Invalid("expires_at has no time zone")
        moment = int(moment.timestamp())
    return in_range(moment, 1, 2**63 - 1, "expires_at")


def _answering(prompt: PromptHandler) -> Callable[..., int]:
    """The C function of a prompt handler. The handler's exception is raised by the call that asked."""

    def answer_prompt(_: Any, question: Any, answer: int, capacity: int, length: Any) -> int:
        try:
            asked = question.contents
            said = prompt(Prompt(
                known(PromptKind, asked.kind), asked.attempt, *((text or b"").decode() for text in (
                    asked.message, asked.service, asked.account))))
            if said is None:
                return CANCELLED
            data, count = _library.buffer(said)
            if count > capacity:
                raise Invalid(f"the answer to a prompt is longer than {capacity} bytes")
            ctypes.memmove(answer, data, count)
            length[0] = count
            return _library.OK
        except BaseException as exception:  # pylint: disable=broad-exception-caught
            _library.raised.exception = exception
            return CANCELLED

    return answer_prompt
