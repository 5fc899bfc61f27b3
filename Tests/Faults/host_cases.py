"""Hosts with a main loop of GLib, threads and children, on a real gnome-keyring: host.c says what is checked."""
import os
import subprocess

from faults import HERE, WORK, case, pkg_config
from keyring_cases import Keyring

HOST = os.path.join(WORK, "host")


def host(what):
    if not os.path.exists(HOST):
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "tokenkeep", "gio-2.0"], env=pkg_config(), check=True, capture_output=True,
            text=True).stdout.split()
        subprocess.run(
            ["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", HOST, os.path.join(HERE, "host.c"), *flags],
            check=True)
    with Keyring() as keyring:
        environment = {**keyring.vault().environment, "XDG_RUNTIME_DIR": keyring.home}
        done = subprocess.run([HOST, what], env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}{done.stderr}"


@case
def a_host_calls_within_its_main_loop():
    host("loop")


@case
def a_hosts_main_loop_turns_while_eight_threads_call():
    host("threads")


@case
def children_of_a_host():
    host("fork")
