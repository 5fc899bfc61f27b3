#!/bin/sh
# Installs with apt what is missing. Asks for nothing, changes nothing that is there. Before that it looks for Swift, which
# apt does not have.
#
# Usage: install-dependencies.sh [library|demo|all]
# library: what building needs; demo: that, and a keyring on a bus of its own; all (default): what the tests need.
set -eu

# Programs of the toolchain need these libraries, and a linker: https://www.swift.org/install/linux names more, for lldb.
toolchain="libncurses6 libsqlite3-0 libxml2 libcurl4 libuuid1 zlib1g libstdc++6"
build="libsodium-dev libargon2-dev libjansson-dev libpam0g-dev libsystemd-dev libgcrypt20-dev pkg-config cmake make gcc g++ git ca-certificates libtss2-dev"
tests="clang-format python3 python3-venv python3-nacl curl strace libseccomp-dev util-linux gdb faketime libsecret-1-dev libglib2.0-dev libcurl4-openssl-dev openssl pamtester openssh-client pinentry-tty davfs2 systemd-container libcurl3-gnutls valgrind"
modules="pass gnupg abigail-tools"
tpm="swtpm tpm2-tools"
servers="glewlwyd sqlite3 dbconfig-no-thanks"
# The registry of tokenkeep fleet, and its operator's program; the authority of its tests' events.
fleet="etcd-server etcd-client python3-cryptography"
tools="skopeo restic rclone borgbackup msmtp bindfs gh man-db mandoc scdoc fish zsh"
keyring="gnome-keyring dbus libglib2.0-bin libsecret-tools python3-dbus python3-dbusmock python3-gi python3-keyring python3-secretstorage python3-jeepney keepassxc"

case ${1-all} in
library) packages=$build ;;
demo) packages="$build $keyring" ;;
all) packages="$build $tests $modules $tpm $servers $fleet $tools $keyring" ;;
*) echo "usage: install-dependencies.sh [library|demo|all]" >&2; exit 2 ;;
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
swift_starts || missing=" $toolchain"
command -v ld.gold >/dev/null || missing="$missing binutils-gold"

for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
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
