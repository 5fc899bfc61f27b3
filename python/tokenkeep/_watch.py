# SPDX-License-Identifier: Apache-2.0
"""Watching a store."""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import Any, Iterator, NamedTuple, Optional, Union

from . import _library
from ._constants import EventKind, known
from ._errors import NotFound
from ._handles import Closing, Handle


class Event(NamedTuple):
    """A change of an item. service and account are None if the watch cannot name the item (LIST_AGAIN)."""

    kind: Union[EventKind, int]
    namespace: str
    service: Optional[str]
    account: Optional[str]


class Watch(Closing):
    """Reports the items that any process saves or clears. A file object for select, selectors and asyncio.

        with store.watch() as watch:
            while True:
                select.select([watch], [], [], 30)
                for event in watch:
                    ...

    The timeout finds changes that a keyring does not signal. Iterating ends when nothing has changed any more.
    """

    def __init__(self, pointer: Any) -> None:
        self._handle = Handle(pointer, "watch_close", "the watch")

    def fileno(self) -> int:
        """A descriptor that is readable while there may be an event. Owned by the watch."""
        with self._handle as pointer:
            return int(_library.get("watch_fd", pointer))

    def next(self) -> Optional[Event]:
        """The next event, or None if nothing has changed. Never waits for a change."""
        event = c_void_p()
        with self._handle as pointer:
            try:
                _library.call("watch_next", pointer, byref(event))
            except NotFound:
                return None
        try:
            return Event(
                known(EventKind, _library.get("event_kind", event)), _library.text(_library.get("event_namespace", event)) or "",
                _library.text(_library.get("event_service", event)), _library.text(_library.get("event_account", event)))
        finally:
            _library.get("event_free", event)

    def __iter__(self) -> Iterator[Event]:
        while (event := self.next()) is not None:
            yield event
