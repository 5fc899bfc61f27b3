# SPDX-License-Identifier: Apache-2.0
"""The exceptions, one for each status of the C library."""
from __future__ import annotations

from typing import Dict, Optional, Type


class Error(Exception):
    """A call that failed. `str()` names the failure, the item and the remedy in one line, and never a secret.

    status: the number of include/tokenkeep/types.h. module: the module that failed, or None.
    """

    status: int = 17

    def __init__(self, message: str, module: Optional[str] = None) -> None:
        super().__init__(message)
        self.module = module

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return type(self), (str(self), self.module)


class NotFound(Error):
    """No such item; every module that could hold the item answered."""

    status = 1


class Locked(Error):
    """The item's module or class key is locked, and no prompt was allowed."""

    status = 2


class Unavailable(Error):
    """A module that may hold the item cannot be reached. An `http` function raises this error if nothing was sent."""

    status = 3


class TimedOut(Error):
    """The deadline passed."""

    status = 4


class Cancelled(Error):
    """The user dismissed the prompt, or the caller cancelled."""

    status = 5


class Denied(Error):
    """Wrong password, or the permissions do not allow the call."""

    status = 6


class Policy(Error):
    """The requested level is refused or cannot be enforced."""

    status = 7


class Expired(Error):
    """The token of a session has expired and cannot be renewed."""

    status = 8


class Conflict(Error):
    """The item changed since its version was read."""

    status = 9


class Duplicate(Error):
    """The item exists, and `if_absent` was given."""

    status = 10


class Corrupt(Error):
    """Stored data fails authentication or parsing. Unreadable data is never deleted."""

    status = 11


class Invalid(Error):
    """An argument is outside its limits; the message names the argument."""

    status = 12


class Unsupported(Error):
    """This module or build does not have the requested feature."""

    status = 13


class IO(Error):
    """The operating system refused; the message holds the system's error text."""

    status = 14


class Busy(Error):
    """Another process held the item until the deadline."""

    status = 15


class Forked(Error):
    """The object was made before fork(). Open a new store in the child."""

    status = 16


class Internal(Error):
    """A fault of TokenKeep itself."""

    status = 17


class NeedsLogin(Error):
    """The session is over: the user must sign in again."""

    status = 18


BY_STATUS: Dict[int, Type[Error]] = {kind.status: kind for kind in Error.__subclasses__()}


def make(status: int, message: str, module: Optional[str] = None) -> Error:
    """The exception of a status; a plain `Error` for a number that this package does not know."""
    error = BY_STATUS.get(status, Error)(message, module)
    error.status = status
    return error
