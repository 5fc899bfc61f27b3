#!/usr/bin/python3
"""The fleet's tests with the etcd of a later Debian, in a root that mmdebstrap makes.

Usage: newer_etcd.py SUITE PROGRAM [NAME…]      as root; SUITE: trixie (3.5.16) or sid. The rest as for run.py

The first run fetches the root (100 MB) into the directory of Tests/Providers/roots.py.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Providers"))
import roots  # noqa: E402: its folder must be on the path first

NAMES = ("etcd", "etcdctl")


def programs(suite):
    """A directory that has the suite's etcd and nothing else, complete or not there at all."""
    path = os.path.join(roots.directory(), f"{suite}-etcd")
    if not os.path.isdir(path):
        unfinished = path + ".unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        os.makedirs(f"{unfinished}/bin")
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=extract", "--aptopt=APT::Install-Recommends \"false\"",
             "--aptopt=Acquire::Check-Valid-Until \"false\"", "--include=etcd-server,etcd-client",
             suite, f"{unfinished}/root", roots.mirror()], check=True)
        for name in NAMES:
            shutil.copy2(f"{unfinished}/root/usr/bin/{name}", f"{unfinished}/bin/{name}")
        shutil.rmtree(f"{unfinished}/root")
        os.rename(unfinished, path)
    return f"{path}/bin"


def main():
    suite, *rest = sys.argv[1:]
    environment = os.environ | {"PATH": f"{programs(suite)}:{os.environ['PATH']}"}
    os.execve(f"{HERE}/run.py", [f"{HERE}/run.py", *rest], environment)


if __name__ == "__main__":
    main()
