# SPDX-License-Identifier: Apache-2.0
"""The owner of a C object."""
from __future__ import annotations

import os
import threading
from typing import Any, Optional, TypeVar

from . import _library
from ._errors import Forked


Own = TypeVar("Own", bound="Closing")


class Handle:
    """Owns a C object that several threads may use. `with handle as pointer:` keeps the object for a call.

    After close() the last user frees the object: no thread frees what another thread still uses.
    """

    def __init__(self, pointer: Any, free: str, what: str) -> None:
        self._pointer: Optional[Any] = pointer
        self._free = free
        self._what = what
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._users = 0
        self._is_closed = False

    def __enter__(self) -> Any:
        # Before the lock, which another thread of the parent may have held at the fork.
        if os.getpid() != self._process:
            raise Forked(f"{self._what} was made before fork(): open a new store in the child")
        with self._lock:
            if self._is_closed or self._pointer is None:
                raise ValueError(f"{self._what} is closed")
            self._users += 1
            return self._pointer

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._users -= 1
            pointer = self._last()
        self._release(pointer)

    def close(self) -> None:
        """Frees the object, now or when its last user is done. In a child made by fork(), the child's copy."""
        if os.getpid() != self._process:
            pointer, self._pointer = self._pointer, None
        else:
            with self._lock:
                self._is_closed = True
                pointer = self._last()
        self._release(pointer)

    def _last(self) -> Optional[Any]:
        if not self._is_closed or self._users:
            return None
        pointer, self._pointer = self._pointer, None
        return pointer

    def _release(self, pointer: Optional[Any]) -> None:
        if pointer is not None:
            _library.get(self._free, pointer)

    def __del__(self) -> None:
        if getattr(self, "_pointer", None) is not None:
            self.close()


class Closing:
    """An object with a handle: a context manager, closed at the end of its block or when nobody refers to the object."""

    _handle: Handle

    def close(self) -> None:
        """Closes the object. Closing a closed object does nothing."""
        self._handle.close()

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
