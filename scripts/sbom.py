#!/usr/bin/env python3
"""Writes one CycloneDX file about the packages: the Swift packages by pin, Swift's runtime, what else is linked in, and the
libraries that are loaded. Its time is SOURCE_DATE_EPOCH, else that of the last commit; two runs write the same bytes.

Usage: sbom.py BUILD > tokenkeep-VERSION.cdx.json        BUILD: the directory of `make library`
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SWIFT = "Apache-2.0 WITH Swift-exception"
# What licenses/parts.txt names as an archive: the component that the archive belongs to, its Debian package, its licence.
ARCHIVES = {
    "libargon2.a": ("argon2", "libargon2-dev", "CC0-1.0 OR Apache-2.0"),
    "libjansson.a": ("jansson", "libjansson-dev", "MIT"),
    "libsodium.a": ("libsodium", "libsodium-dev", "ISC"),
    "libstdc++.a": ("libstdc++", "g++", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libgcc.a": ("libgcc", "gcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libgcc_eh.a": ("libgcc", "gcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libc_nonshared.a": ("glibc", "libc6-dev", "LGPL-2.1-or-later"),
}
# Libraries that a program or the library loads: the component, its Debian package, its licence, whether always.
LOADED = {
    "libsodium": ("libsodium-dev", "ISC", "required"),
    "argon2": ("libargon2-dev", "CC0-1.0 OR Apache-2.0", "required"),
    "jansson": ("libjansson-dev", "MIT", "required"),
    "systemd": ("libsystemd-dev", "LGPL-2.1-or-later", "optional"),
    "libgcrypt": ("libgcrypt20-dev", "LGPL-2.1-or-later", "optional"),
    "tpm2-tss": ("libtss2-dev", "BSD-2-Clause", "optional"),
    "linux-pam": ("libpam0g-dev", "BSD-3-Clause", "optional"),
    "libsecret": ("libsecret-1-0", "LGPL-2.1-or-later", "optional"),
    "glib": ("libglib2.0-0", "LGPL-2.1-or-later", "optional"),
    "curl": ("libcurl4", "curl", "optional"),
    "zlib": ("zlib1g", "Zlib", "optional"),
    "brotli": ("libbrotli1", "MIT", "optional"),
    "zstd": ("libzstd1", "BSD-3-Clause OR GPL-2.0-only", "optional"),
}
# The names by which the sources open libraries when they are needed, and the component of each.
OPENED = {
    "libsecret-1.so.0": "libsecret", "libglib-2.0.so.0": "glib", "libgobject-2.0.so.0": "glib", "libgio-2.0.so.0": "glib",
    "libcurl.so.4": "curl", "libcurl-gnutls.so.4": "curl", "libz.so.1": "zlib", "libbrotlidec.so.1": "brotli",
    "libzstd.so.1": "zstd",
}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT).stdout


def version():
    return re.search(r'TOKENKEEP_VERSION +"([^"]+)"', (ROOT / "include/tokenkeep/version.h").read_text())[1]


def debian_version(package):
    return output("dpkg-query", "-W", "-f=${Version}", package).strip()


def component(name, number, licence, kind="library", **more):
    made = {"type": kind, "bom-ref": f"{name}@{number or 'unknown'}", "name": name}
    if number:
        made["version"] = number
    made["licenses"] = [{"expression": licence}]
    return made | more


def swift_packages():
    for line in (ROOT / "packaging/swift-packages.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, number, commit, address = line.split()
        purl = f"pkg:swift/{address.removeprefix('https://')}@{number}"
        yield component(name, number, SWIFT, purl=purl, scope="required",
                        properties=[{"name": "tokenkeep:commit", "value": commit}],
                        externalReferences=[{"type": "vcs", "url": address}])


def linked(build):
    """What the linker took objects of, by the list that the build wrote."""
    found = {}
    for archive in (build / "linked.txt").read_text().split():
        name, package, licence = ARCHIVES.get(archive, ("swift-runtime", None, SWIFT))
        if archive == "libBlocksRuntime.a":
            name, licence = "blocks-runtime", "MIT"
        known = found.setdefault(name, (package, licence, []))
        known[2].append(archive)
    swift = re.search(r"Swift version (\S+)", output("swift", "--version"))
    for name, (package, licence, archives) in sorted(found.items()):
        number = debian_version(package) if package else swift[1] if swift else None
        yield component(name, number, licence, scope="required",
                        properties=[{"name": "tokenkeep:linked", "value": archive} for archive in sorted(archives)])


def loaded(present):
    for name, (package, licence, scope) in sorted(LOADED.items()):
        if name not in present:
            yield component(name, debian_version(package), licence, scope=scope)


def packages():
    """The packages and the tarball that lie in build/packages, with their sums."""
    for path in sorted((ROOT / "build/packages").glob("*tokenkeep*")):
        if path.suffix in (".deb", ".rpm", ".xz") and ".orig." not in path.name:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            yield {"type": "file", "bom-ref": path.name, "name": path.name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def main():
    build = Path(sys.argv[1])
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct") or 0)
    subject = component("tokenkeep", version(), "Apache-2.0", kind="application")
    parts = [*swift_packages(), *linked(build)]
    parts += loaded({part["name"] for part in parts})
    bom = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)), "component": subject},
        "components": parts + [*packages()],
        "dependencies": [{"ref": subject["bom-ref"], "dependsOn": sorted({part["bom-ref"] for part in parts})}],
    }
    content = json.dumps(bom, sort_keys=True)
    bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"
    print(json.dumps(bom, indent=2, sort_keys=True))


if __name__ == "__main__":
    main()
