#!/bin/sh
# Says in one line what to do if Swift is missing or too old, before anything is compiled.
#
# Usage: check-swift.sh [SWIFT]      without it, the program on the PATH
set -eu
swift=${1:-swift}
advice="install 6.2 or later from https://www.swift.org/install/linux and put its usr/bin"
command -v "$swift" >/dev/null || { echo "Swift is not on the PATH: $advice there." >&2; exit 1; }
version=$("$swift" --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p')
[ -n "$version" ] || {
    echo "Swift does not start ($("$swift" --version 2>&1 | tail -n 1)): install what is missing, or the toolchain for this system from" \
        "https://www.swift.org/install/linux." >&2
    exit 1
}
[ "$(printf '%s\n' 6.2 "$version" | sort -V | head -n 1)" = 6.2 ] ||
    { echo "Swift $version is too old: $advice on the PATH." >&2; exit 1; }
