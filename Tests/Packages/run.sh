#!/bin/bash
# The Debian packages on a clean Debian 12 without a network: installed by apt from a local repository, used as debian/tests says,
# upgraded and downgraded under a program that holds the library, removed and purged. And what tools read in the packages:
# lintian, hardening-check, dpkg-gensymbols, the sizes.
#
# Usage: run.sh PACKAGES     the directory with the .debs and the .changes of make deb; as root
# The clean machine is made once by mmdebstrap, in /var/cache/tokenkeep-packages; remove it to have it made anew.
set -u
[ $# -eq 1 ] && ls "$1"/libtokenkeep0_*.deb >/dev/null 2>&1 || { echo "usage: run.sh PACKAGES (make deb makes them)" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "skipped packages: a clean machine is made as root"; exit 0; }
packages=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${TOKENKEEP_PACKAGES_ROOTS:-/var/cache/tokenkeep-packages}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"

. "$here/files.sh"
. "$here/reading.sh"
. "$here/machine.sh"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
