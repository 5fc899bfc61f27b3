# SPDX-License-Identifier: Apache-2.0
"""Items and lists of items."""
from __future__ import annotations

import time
from ctypes import byref, c_char_p
from typing import Any, Dict, List, Optional, Union

from . import _library
from ._constants import Level, SaveFlag, known
from ._errors import Error
from ._handles import Handle


class Item:
    """An item of a store. Times are Unix seconds, None if unknown or never.

    The secret of a loaded item is in guarded memory until close(), the end of a `with` block, or until nobody refers to
    the item. Items outlive their store.
    """

    def __init__(self, pointer: Any, handle: Optional[Handle]) -> None:
        def get(name: str) -> Any:
            return _library.get(f"item_{name}", pointer)

        self._handle = handle
        self.namespace: str = get("namespace").decode()
        self.service: str = get("service").decode()
        self.account: str = get("account").decode()
        self.label: str = (get("label") or b"").decode()
        self.module: Optional[str] = _library.text(get("module"))
        self.level: Union[Level, int] = known(Level, get("accessibility"))
        self.flags = SaveFlag(get("flags"))
        self.created_at: Optional[int] = get("created_at") or None
        self.modified_at: Optional[int] = get("modified_at") or None
        self.expires_at: Optional[int] = get("expires_at") or None
        # None for a listed item whose secret was not read.
        self.version: Optional[int] = get("version") or None
        self.attributes: Dict[str, str] = _attributes(pointer)

    @property
    def secret(self) -> bytes:
        """A copy of the secret, which Python does not wipe. Raises ValueError for a listed or closed item."""
        if self._handle is None:
            raise ValueError("a listed item has no secret: load the item")
        with self._handle as pointer:
            return _library.copied("item_secret", pointer) or b""

    @property
    def is_expired(self) -> bool:
        """Whether the item's expiry has passed."""
        return self.expires_at is not None and self.expires_at <= time.time()

    def close(self) -> None:
        """Wipes the library's copy of the secret. The metadata stays."""
        if self._handle is not None:
            self._handle.close()

    def __enter__(self) -> Item:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tokenkeep.Item {self.service!r} {self.account!r}>"


class Items(List[Item]):
    """Listed items, in the order of service and account. problem: the error that left the list incomplete, or None."""

    problem: Optional[Error] = None


def loaded(pointer: Any) -> Item:
    """The item of a load, which the result owns."""
    return Item(pointer, Handle(pointer, "item_free", "the item"))


def listed(pointer: Any) -> Items:
    """The items of a list, which is freed."""
    try:
        count = _library.get("items_count", pointer)
        items = Items(Item(_library.get("items_at", pointer, index), None) for index in range(count))
        items.problem = problem_of(_library.get("items_problem", pointer))
        return items
    finally:
        _library.get("items_free", pointer)


def problem_of(error: Any) -> Optional[Error]:
    """The exception of an error that its list owns."""
    return None if error is None else _library.error_of(_library.get("error_status", error), error)


def _attributes(pointer: Any) -> Dict[str, str]:
    attributes = {}
    for index in range(_library.get("item_attribute_count", pointer)):
        name, value = c_char_p(), c_char_p()
        if _library.get("item_attribute_at", pointer, index, byref(name), byref(value)) and name.value is not None:
            attributes[name.value.decode()] = (value.value or b"").decode()
    return attributes
