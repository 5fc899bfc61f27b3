#!/usr/bin/python3
"""The milliseconds until no class key of level 1 is in the kernel. Usage, as the user: lock_latency.py hint SESSION | kill PID"""

import os, re, signal, sys, time

from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection

KEY = re.compile(r"^\S+ I--Q\S* +\d+ +\S+ \S+ +%d +\d+ user +tokenkeep:[0-9a-f]+:1:[0-9a-f]+: 32$" % os.getuid(), re.M)


def has_key():
    with open("/proc/keys") as keys:
        return KEY.search(keys.read()) is not None


def main():
    kind, argument = sys.argv[1:]
    if not has_key():
        sys.exit("there is no key")
    if kind == "hint":
        bus = open_dbus_connection("SYSTEM")
        session = DBusAddress(f"/org/freedesktop/login1/session/{argument}", "org.freedesktop.login1",
                              "org.freedesktop.login1.Session")
        start = time.monotonic()
        bus.send(new_method_call(session, "SetLockedHint", "b", (True,)))
    else:
        start = time.monotonic()
        os.kill(int(argument), signal.SIGKILL)
    while has_key():
        pass
    print((time.monotonic() - start) * 1000)


main()
