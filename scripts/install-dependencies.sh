#!/bin/sh
# Installs with apt what is missing. Asks for nothing, changes nothing that is there.
#
# Usage: install-dependencies.sh [library|demo|all]
# library: what building needs; demo: that, and a keyring on a bus of its own; all (default): what the tests need.
set -eu

build="libsodium-dev libargon2-dev libjansson-dev libpam0g-dev libsystemd-dev pkg-config cmake make gcc g++ git ca-certificates libtss2-dev"
tests="clang-format python3 python3-venv python3-nacl curl strace util-linux gdb faketime libsecret-1-dev libglib2.0-dev libcurl4-openssl-dev openssl pamtester openssh-client pinentry-tty davfs2 systemd-container libcurl3-gnutls"
modules="pass gnupg abigail-tools"
tpm="swtpm tpm2-tools"
servers="glewlwyd sqlite3 dbconfig-no-thanks"
keyring="gnome-keyring dbus libglib2.0-bin libsecret-tools python3-dbus python3-dbusmock python3-gi python3-keyring python3-secretstorage python3-jeepney keepassxc"

case ${1-all} in
library) packages=$build ;;
demo) packages="$build $keyring" ;;
all) packages="$build $tests $modules $tpm $servers $keyring" ;;
*) echo "usage: install-dependencies.sh [library|demo|all]" >&2; exit 2 ;;
esac
missing=""
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
