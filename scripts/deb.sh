#!/bin/sh
# Builds the Debian packages from the tarball of make dist, in a directory of its own, and puts them into build/packages.
#
# Usage: deb.sh [DIRECTORY]      where to build and leave everything; without it build/packages/work, with the results in
# build/packages
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
umask 022
unset MAKEFLAGS MAKELEVEL MFLAGS
scripts/check-swift.sh
command -v dpkg-buildpackage >/dev/null || { echo "dpkg-buildpackage is missing: make deps installs it." >&2; exit 1; }
version=$(sed -n 's/.*define TOKENKEEP_VERSION  *"\(.*\)".*/\1/p' include/tokenkeep/version.h)
work=${1:-$root/build/packages/work}
rm -rf "$work"
mkdir -p "$work"
cp "build/packages/tokenkeep-$version.tar.xz" "$work/tokenkeep_$version.orig.tar.xz"
tar -C "$work" -xJf "$work/tokenkeep_$version.orig.tar.xz"
if ! (cd "$work/tokenkeep-$version" && dpkg-buildpackage -us -uc) >"$work/build.log" 2>&1; then
    grep -E 'error:|Error|unmet build dep|No space left|is not on the PATH|too old' "$work/build.log" | tail -n 5 >&2
    echo "The packages were not built: $work/build.log says why." >&2
    exit 1
fi
[ $# -eq 0 ] || exit 0
rm -f build/packages/*.deb
mv "$work"/*.deb "$work"/*.dsc "$work"/*.debian.tar.xz "$work"/*.orig.tar.xz "$work"/*.changes "$work"/*.buildinfo "$root/build/packages"
ls "$root"/build/packages/*.deb
