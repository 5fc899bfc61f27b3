# SPDX-License-Identifier: Apache-2.0
"""The backend for Python's `keyring`. Importing this module touches neither the library nor bus nor vault.

(service, username) is the item (service, account). A name with control characters, or one that begins with "%:", is kept as
"%:" and the percent-encoded name, for names of items have no control characters.
"""
from __future__ import annotations

import os
import re
import time
import urllib.parse
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import keyring.backend
from keyring import credentials, errors

from . import _errors, _foreign

if TYPE_CHECKING:
    from ._items import Item
    from ._store import Store

ESCAPE = "%:"
# The attribute by which git's helper, too, orders what was saved within one second.
SAVED_AFTER = "saved-after"
# The longest name of an item, in bytes.
LONGEST = 255
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
# Older versions of keyring have no class for a credential without a username.
ANONYMOUS = getattr(credentials, "AnonymousCredential", None)


def escaped(name: str) -> str:
    """The name of an item for a name of keyring."""
    if not CONTROL.search(name) and not name.startswith(ESCAPE):
        return name
    return ESCAPE + urllib.parse.quote(name, safe="", errors="surrogatepass")


def unescaped(name: str) -> str:
    """The name of keyring for the name of an item. A text that `escaped` never makes is itself."""
    if not name.startswith(ESCAPE):
        return name
    try:
        found = urllib.parse.unquote(name[len(ESCAPE):], errors="strict")
    except UnicodeDecodeError:
        return name
    return found if escaped(found) == name else name


def _can_have_item(service: str, username: str = "") -> bool:
    """Whether an item can have these names. Nothing was ever stored under names that are longer, or under no service."""
    try:
        lengths = len(escaped(service).encode()), len(escaped(username).encode())
    except UnicodeEncodeError:
        return False
    return lengths[0] > 0 and max(lengths) <= LONGEST


class _ClassProperty:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.function(owner)


class Keyring(keyring.backend.KeyringBackend):
    """Keeps passwords in TokenKeep's store.

    The properties, also as KEYRING_PROPERTY_NAME in the environment: stack, namespace, timeout (seconds for each call) and
    interactive (1: the desktop's keyring may ask to be unlocked). An empty text is the default.
    """

    stack: Optional[str] = None
    namespace: str = ""
    timeout: Any = None
    interactive: Any = False
    _opened: Optional[Tuple[Any, Store]] = None

    def _priority(cls: Any) -> float:  # pylint: disable=no-self-argument
        """Above SecretService (5) and KWallet (5.1), below the chainer (10)."""
        from . import _library
        try:
            _library.library()
        except ImportError as error:
            raise RuntimeError(str(error)) from None
        return 5.5

    priority = _ClassProperty(_priority)  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> Optional[str]:
        """The password; None if there is none, or if the item has expired. `KeyringLocked` if a place is locked."""
        if not _can_have_item(service, username or ""):
            return None
        try:
            return _password(self._store().load(escaped(service), escaped(username or "")))
        except _errors.NotFound:
            return None
        except _errors.Error as error:
            raise _raised(error, errors.KeyringError) from error

    def set_password(self, service: str, username: str, password: str) -> None:
        """Saves the password, replacing an existing one."""
        try:
            names = escaped(service), escaped(username or "")
            store = self._store()
            store.save(*names, password, attributes=_order(store, *names))
        except _errors.Error as error:
            raise _raised(error, errors.PasswordSetError) from error

    def delete_password(self, service: str, username: str) -> None:
        """Deletes the password. `PasswordDeleteError` if there is none. Nothing is deleted while a place is locked."""
        if not _can_have_item(service, username or ""):
            raise errors.PasswordDeleteError("No such password!")
        names = escaped(service), escaped(username or "")
        try:
            store = self._store()
            store.load(*names).close()
            store.clear(*names)
        except _errors.NotFound as error:
            raise errors.PasswordDeleteError("No such password!") from error
        except _errors.Error as error:
            raise _raised(error, errors.PasswordDeleteError) from error

    def get_credential(self, service: str, username: Optional[str]) -> Optional[credentials.Credential]:
        """The credential of the username; without a username, the newest of the service."""
        try:
            if username is not None:
                password = self.get_password(service, username)
                return None if password is None else _credential(username, password)
            return self._newest(escaped(service)) if _can_have_item(service) else None
        except _errors.NotFound:
            return None
        except _errors.Error as error:
            raise _raised(error, errors.KeyringError) from error

    def _newest(self, service: str) -> Optional[credentials.Credential]:
        store = self._store()
        items = store.list(service)
        own = sorted(items, key=_saved_at, reverse=True)
        found = self._first(store, service, [item.account for item in own])
        if found is None and items.problem is not None:
            raise items.problem
        if found is None:
            accounts, is_locked = _foreign.usernames(service, self._seconds() or 5)
            found = self._first(store, service, accounts)
            # The store says whether the locked item is in one of its places.
            if found is None and is_locked:
                store.load(service, "").close()
        return found

    def _first(self, store: Store, service: str, accounts: List[str]) -> Optional[credentials.Credential]:
        for account in accounts:
            try:
                password = _password(store.load(service, account))
            except _errors.NotFound:
                continue  # cleared since the list, or in no place of the stack
            if password is not None:
                return _credential(unescaped(account), password)
        return None

    def _store(self) -> Store:
        """The store of the present properties and of this process: a child made by fork() opens its own."""
        timeout, interactive = self._seconds(), self.interactive
        if isinstance(interactive, str):
            interactive = interactive.strip().lower() not in ("", "0", "no", "false")
        key = (os.getpid(), self.stack or None, self.namespace, timeout, bool(interactive))
        if self._opened is None or self._opened[0] != key:
            from ._store import Store
            self._opened = key, Store(*key[1:])
        return self._opened[1]

    def _seconds(self) -> Optional[float]:
        if not isinstance(self.timeout, str):
            return self.timeout  # type: ignore[no-any-return]
        if not self.timeout.strip():
            return None
        try:
            return float(self.timeout)
        except ValueError:
            raise _errors.Invalid(f"the property timeout is no number of seconds: {self.timeout!r}") from None


def _saved_at(item: Item) -> int:
    """The moment at which an item counts as saved, in milliseconds."""
    changed = (item.modified_at or 0) * 1000
    after = item.attributes.get(SAVED_AFTER, "")
    return max(changed, int(after)) if after.isascii() and after.isdigit() else changed


def _order(store: Store, service: str, account: str) -> Optional[Dict[str, str]]:
    """The attributes of an item that is saved within the second of another account's, or after the clock was set back; None
    for those that it has."""
    try:
        items = list(store.list(service))
    except _errors.Error:
        return None
    latest = max((_saved_at(item) for item in items if item.account != account), default=0)
    if latest < int(time.time()) * 1000:
        return None
    kept = {name: value for item in items if item.account == account for name, value in item.attributes.items()}
    return {**kept, SAVED_AFTER: str(latest + 1)}


def _password(item: Item) -> Optional[str]:
    with item:
        if item.is_expired:
            return None
        try:
            return item.secret.decode("utf-8")
        except UnicodeDecodeError:
            raise _errors.Unsupported(f"the secret of {item.service} ({item.account}) is not text in UTF-8") from None


def _credential(username: str, password: str) -> credentials.Credential:
    if not username and ANONYMOUS is not None:
        return ANONYMOUS(password)
    return credentials.SimpleCredential(username, password)


def _raised(error: _errors.Error, otherwise: Any) -> errors.KeyringError:
    return (errors.KeyringLocked if isinstance(error, _errors.Locked) else otherwise)(str(error))
