# SPDX-License-Identifier: Apache-2.0
"""The numbers of the C headers."""
from __future__ import annotations

import enum
from typing import Type, TypeVar, Union

Number = TypeVar("Number", bound=enum.IntEnum)


class Level(enum.IntEnum):
    """When an item may be read. DEFAULT keeps the level of an existing item; a new item gets AFTER_FIRST_UNLOCK."""

    DEFAULT = 0
    WHEN_UNLOCKED = 1
    AFTER_FIRST_UNLOCK = 2
    WHEN_UNLOCKED_THIS_DEVICE_ONLY = 3
    AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY = 4
    WHEN_PASSCODE_SET_THIS_DEVICE_ONLY = 5
    MEMORY_ONLY = 6


class SaveFlag(enum.IntFlag):
    """The flags of an item, and of a save."""

    REQUIRE_ENFORCED = 1
    USER_PRESENCE = 2
    SYNCHRONIZABLE = 4
    IF_ABSENT = 8
    KEEP_WHEN_LOCKED = 16


class PromptKind(enum.IntEnum):
    """The answer that a prompt asks for."""

    PASSWORD = 1
    NEW_PASSWORD = 2
    RECOVERY = 3


class Axis(enum.IntEnum):
    """The threats that an item is protected against."""

    OTHER_USER = 1
    DISK_THEFT = 2
    OTHER_MACHINE = 3
    SCREEN_LOCK = 4
    PRESENCE = 5


class Strength(enum.IntEnum):
    """How strong a protection is. ADVISORY does not stop a program that goes around TokenKeep."""

    NONE = 0
    ADVISORY = 1
    ENFORCED = 2


class EventKind(enum.IntEnum):
    """A change that a watch reports. LIST_AGAIN: an item changed that the watch cannot name."""

    LIST_AGAIN = 1
    SAVED = 2
    CLEARED = 3


class SessionKind(enum.IntEnum):
    """Whose session begins."""

    USER = 1
    GUEST = 2


class State(enum.IntEnum):
    """The state of a session. UNKNOWN: a module that may hold the session cannot be asked."""

    UNKNOWN = 0
    LOCKED = 1
    SIGNED_OUT = 2
    GUEST = 3
    USER = 4
    NEEDS_LOGIN = 5


class Reason(enum.IntEnum):
    """Why a session ended."""

    NONE = 0
    LOGOUT = 1
    REMOTE = 2
    GUEST_EXPIRED = 3
    EXPIRED = 4
    REFUSED = 5
    ROTATION_LOST = 6
    REVOKED = 7
    INTERACTION = 8
    OTHER_SUBJECT = 9


class Rotation(enum.IntEnum):
    """What the server does with a refresh token that was used."""

    STRICT = 0
    OVERLAP = 1
    NONE = 2


class Purpose(enum.IntEnum):
    """The purpose of a request to the server."""

    REFRESH = 1
    REVOKE = 2
    VALIDATE = 3
    EXTEND = 4


class Result(enum.IntEnum):
    """The result of a hook, or of the revocation, at a logout."""

    DONE = 1
    FAILED = 2
    QUEUED = 3


class Flow(enum.IntEnum):
    """A way of signing in, and the kind of a step."""

    CHOOSE = 0
    BROWSER = 1
    DEVICE = 2
    PASTE = 3


def known(kind: Type[Number], number: int) -> Union[Number, int]:
    """The number as a member of `kind`, or the plain number if a later library returns a new number."""
    try:
        return kind(number)
    except ValueError:
        return number
