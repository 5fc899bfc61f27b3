# SPDX-License-Identifier: Apache-2.0
"""The usernames of a service in the Secret Service, of items that other programs stored: `Store.list` names own items alone.

jeepney, which keyring brings, speaks D-Bus. No secret is read, nothing is unlocked, and no service is started.
"""
from __future__ import annotations

import time
from typing import Any, List, Tuple

NAME, PATH = "org.freedesktop.secrets", "/org/freedesktop/secrets"
# So many items are asked for their attributes.
MOST = 32


def usernames(service: str, timeout: float) -> Tuple[List[str], bool]:
    """The usernames, the newest first, and whether an item of the service is locked. Neither without jeepney or a bus."""
    try:
        from jeepney.io.blocking import open_dbus_connection
    except ImportError:
        return [], False
    end = time.monotonic() + timeout
    try:
        with open_dbus_connection(bus="SESSION", auth_timeout=timeout) as connection:
            unlocked, locked = _ask(
                connection, end, PATH, "org.freedesktop.Secret.Service", "SearchItems", "a{ss}", ({"service": service},))
            return _named(connection, end, unlocked[:MOST]), bool(locked)
    except Exception:  # pylint: disable=broad-exception-caught
        return [], False  # no bus, no service, no answer: there is nothing more to find


def _named(connection: Any, end: float, paths: List[str]) -> List[str]:
    found = []
    for path in paths:
        (properties,) = _ask(
            connection, end, path, "org.freedesktop.DBus.Properties", "GetAll", "s", ("org.freedesktop.Secret.Item",))
        attributes, modified = properties["Attributes"][1], properties["Modified"][1]
        if "username" in attributes:
            found.append((modified, attributes["username"]))
    return [username for _, username in sorted(found, reverse=True)]


def _ask(connection: Any, end: float, path: str, interface: str, method: str, signature: str, body: Tuple[Any, ...]) -> Any:
    from jeepney import DBusAddress, MessageFlag, MessageType, new_method_call
    message = new_method_call(DBusAddress(path, NAME, interface), method, signature, body)
    message.header.flags |= MessageFlag.no_auto_start
    reply = connection.send_and_get_reply(message, timeout=max(0.0, end - time.monotonic()))
    if reply.header.message_type != MessageType.method_return:
        raise ConnectionError("the Secret Service answers with an error")
    return reply.body
