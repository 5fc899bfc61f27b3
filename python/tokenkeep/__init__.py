# SPDX-License-Identifier: Apache-2.0
"""Session tokens in TokenKeep's encrypted store.

    import tokenkeep

    with tokenkeep.Store() as store:
        store.save("example.com", "ann", "an access token")
        with store.load("example.com", "ann") as item:
            print(item.secret.decode())

The package calls libtokenkeep.so.0, which is loaded by the first import of a name that needs the library, such as `Store`.
Importing `tokenkeep` for the exceptions, or `tokenkeep.keyring` for a backend, needs no library.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._constants import (Axis, EventKind, Flow, Level, PromptKind, Purpose, Reason, Result, Rotation, SaveFlag, SessionKind,
                         State, Strength)
from ._errors import (IO, Busy, Cancelled, Conflict, Corrupt, Denied, Duplicate, Error, Expired, Forked, Internal, Invalid,
                      Locked, NeedsLogin, NotFound, Policy, TimedOut, Unavailable, Unsupported)

if TYPE_CHECKING:
    from ._http import HTTPHandler, Request, Response
    from ._items import Item, Items
    from ._login import LoginStep, StepHandler
    from ._other import jwt_claim_unverified, library_version
    from ._sessions import Session, SessionInfo, SessionInfos, Token
    from ._store import Prompt, PromptHandler, Protection, Store, Synced
    from ._watch import Event, Watch

# The modules of the names that need the library.
_HOMES = {
    "HTTPHandler": "_http", "Request": "_http", "Response": "_http", "Item": "_items", "Items": "_items",
    "LoginStep": "_login", "StepHandler": "_login", "jwt_claim_unverified": "_other", "library_version": "_other",
    "Session": "_sessions", "SessionInfo": "_sessions", "SessionInfos": "_sessions", "Token": "_sessions",
    "Prompt": "_store", "PromptHandler": "_store", "Protection": "_store", "Store": "_store", "Synced": "_store",
    "Event": "_watch", "Watch": "_watch",
}

__all__ = [
    "IO", "Axis", "Busy", "Cancelled", "Conflict", "Corrupt", "Denied", "Duplicate", "Error", "Event", "EventKind", "Expired",
    "Flow", "Forked", "HTTPHandler", "Internal", "Invalid", "Item", "Items", "Level", "Locked", "LoginStep", "NeedsLogin",
    "NotFound", "Policy", "Prompt", "PromptHandler", "PromptKind", "Protection", "Purpose", "Reason", "Request", "Response",
    "Result", "Rotation", "SaveFlag", "Session", "SessionInfo", "SessionInfos", "SessionKind", "State", "StepHandler", "Store",
    "Strength", "Synced", "TimedOut", "Token", "Unavailable", "Unsupported", "Watch", "jwt_claim_unverified", "library_version",
]


def __getattr__(name: str) -> Any:
    """Loads the library for a name that needs it. Raises ImportError if the library is missing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _library
    _library.library()
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
