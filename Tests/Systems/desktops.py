#!/usr/bin/env python3
"""Lockers and display managers on a machine with systemd. Usage: desktops.py BUILD [NAME…]

BUILD is what `cmake --install` installs. NAMEs choose cases. The first run fetches the packages by apt."""

import sys

import greeters
import lockers
from machine import Machine, make_layer, run_cases
from sessions import set_up

PACKAGES = "greetd lightdm lightdm-gtk-greeter xrdp xorgxrdp sway swaylock swayidle wtype xsecurelock xss-lock i3lock xvfb xauth " \
    "xdotool x11-utils libpam-gnome-keyring"


def main():
    build, *names = sys.argv[1:]
    cases = [(name, body) for module in (lockers, greeters) for name, body in vars(module).items()
             if getattr(body, "is_case", False)]
    return run_cases("desktops", cases, names, lambda: Machine(build, make_layer(PACKAGES)), set_up)


if __name__ == "__main__":
    sys.exit(main())
