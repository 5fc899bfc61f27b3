#!/bin/sh
# Installs with apt what is missing. Asks for nothing, changes nothing that is there. Before that it looks for Swift, which
# apt does not have.
#
# Usage: install-dependencies.sh [library|packages|demo|all]
# library: what building needs; packages: that, and what packaging needs; demo: building, and a keyring on a bus of its own;
# all (default): what the tests need. scripts/dependencies.txt has the lists.
set -eu
list=${0%/*}/dependencies.txt

# of PURPOSE: the packages of a purpose, on one line.
of() {
    for package in $(sed -n "s/^$1  *\([^ ]*\) .*/\1/p" "$list"); do printf '%s ' "$package"; done
}

case ${1-all} in
library) packages=$(of build) ;;
packages) packages="$(of build) $(of package)" ;;
demo) packages="$(of build) $(of keyring)" ;;
all) packages="$(of build) $(of package) $(of test) $(of keyring)" ;;
*) echo "usage: install-dependencies.sh [library|packages|demo|all]" >&2; exit 2 ;;
esac

fail() {
    echo "$1" >&2
    exit 1
}

# Whether the programs of the toolchain start. An old one fails at once.
swift_starts() {
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p')
    [ -n "$version" ] && swift build --version >/dev/null 2>&1 || return 1
    [ "$(printf '%s\n' 6.2 "$version" | sort -V | head -n 1)" = 6.2 ] ||
        fail "Swift $version is too old: install 6.2 or later from https://www.swift.org/install/linux and put its usr/bin on the PATH."
}
command -v swift >/dev/null ||
    fail "Swift is not on the PATH: install 6.2 or later from https://www.swift.org/install/linux and put its usr/bin there."
missing=""
swift_starts || for package in $(of toolchain); do missing="$missing $package"; done
command -v ld.gold >/dev/null || missing="$missing binutils-gold"

# Whether a package is there, or another one that provides it: Debian 13 has libcurl3t64-gnutls for libcurl3-gnutls.
is_installed() {
    dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q "install ok installed" ||
        dpkg-query -W -f='${db:Status-Abbrev}, ${Provides},\n' 2>/dev/null | grep -q "^ii .*, $1[ ,]"
}
for package in $packages; do is_installed "$package" || missing="$missing $package"; done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then as_root=""; else as_root="sudo"; fi
echo "Installing:$missing"
$as_root apt-get update -qq
# Without this answer Glewlwyd's package asks for a database and fails to install.
case $missing in
*glewlwyd*) echo "glewlwyd glewlwyd/config_type select No configuration" | $as_root debconf-set-selections ;;
esac
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
swift_starts || fail "Swift does not start: $(swift build --version 2>&1 | tail -n 1)"
