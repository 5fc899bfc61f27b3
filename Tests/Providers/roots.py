"""Debian of other releases in directories of their own, made by mmdebstrap from the mirror that this machine's apt uses.

They are kept from run to run in $TOKENKEEP_PROVIDER_ROOTS, else in $XDG_CACHE_HOME/tokenkeep-providers, else in
/var/cache/tokenkeep-providers. Remove the directory to have them made anew.
"""
import os
import re
import shutil
import subprocess

PACKAGES = ["dbus-daemon", "gnome-keyring", "keepassxc", "kwallet6", "libqca-qt6-plugins"]


class Unavailable(Exception):
    """Why a root or a provider cannot be had here."""


def directory():
    cache = os.environ.get("XDG_CACHE_HOME", "/var/cache")
    return os.path.abspath(os.environ.get("TOKENKEEP_PROVIDER_ROOTS", f"{cache}/tokenkeep-providers"))


def mirror():
    """The address of Debian's packages in this machine's own list of sources."""
    for folder in ["/etc/apt", "/etc/apt/sources.list.d"]:
        for name in sorted(os.listdir(folder)):
            if name.endswith((".list", ".sources")):
                with open(f"{folder}/{name}") as file:
                    found = re.search(r"^(?:URIs:|deb(?: \[.*\])?) +(\S+/debian)/?(?: |$)", file.read(), re.MULTILINE)
                if found:
                    return found.group(1)
    raise Unavailable("no mirror of Debian in /etc/apt")


def root(suite):
    """The root directory of a release, made if it is not there."""
    if os.geteuid() != 0:
        raise Unavailable("making and entering a root needs the user root")
    path = f"{directory()}/{suite}"
    if os.path.isdir(path):
        return path
    if shutil.which("mmdebstrap") is None:
        raise Unavailable("mmdebstrap is not installed")
    os.makedirs(directory(), exist_ok=True)
    unfinished = path + ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    made = subprocess.run(
        ["mmdebstrap", "--variant=minbase", "--aptopt=Acquire::Check-Valid-Until \"false\"",
         "--aptopt=APT::Install-Recommends \"false\"", f"--include={','.join(PACKAGES)}", suite, unfinished, mirror()],
        env={**os.environ, "TMPDIR": directory(), "DEBIAN_FRONTEND": "noninteractive"}, capture_output=True, text=True)
    if made.returncode != 0:
        last = made.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Unavailable(f"mmdebstrap made no {suite}: {last[0]}")
    os.rename(unfinished, path)
    return path


def version(root_directory, package):
    """The upstream version of an installed package."""
    query = ["dpkg-query", f"--admindir={root_directory}/var/lib/dpkg", "--showformat=${Version}", "--show", package]
    found = subprocess.run(query, capture_output=True, text=True)
    if found.returncode != 0 or not found.stdout:
        raise Unavailable(f"{package} is not installed")
    return re.sub(r"^\d+:|[+-].*$", "", found.stdout)
