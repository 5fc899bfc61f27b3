#!/bin/sh
# Builds the Debian packages from the tarball of make dist, in a directory of its own, and puts them into build/packages.
#
# Usage: deb.sh [DIRECTORY]      where to build and leave everything; without it build/packages/work, with the results in
# build/packages. A DIRECTORY of other files is refused: it would be emptied.
set -eu
# The place is the caller's, before the tree's.
case ${1:-} in "" | /*) ;; *) set -- "$PWD/$1" ;; esac
cd "$(dirname "$0")/.."
root=$(pwd)
umask 022
unset MAKEFLAGS MAKELEVEL MFLAGS
scripts/check-swift.sh
command -v dpkg-buildpackage >/dev/null || { echo "dpkg-buildpackage is missing: make deps installs it." >&2; exit 1; }
version=$(sed -n 's/.*define TOKENKEEP_VERSION  *"\(.*\)".*/\1/p' include/tokenkeep/version.h)
work=${1:-$root/build/packages/work}
holds() { [ -e "$1" ]; } # PATTERN, which stays as it is if it matches nothing
if [ $# -gt 0 ] && { holds "$work"/* || holds "$work"/.[!.]*; } && ! holds "$work"/tokenkeep_*.orig.tar.xz; then
    echo "$work has other files than those of a build: give scripts/deb.sh a new directory." >&2
    exit 1
fi
rm -rf "$work"
mkdir -p "$work"
# Says so if the disk was full: a message of that may be about another place, or have had no room itself. A compiler that fails
# removes what it wrote.
unless_full() { # LINE
    case $1 in *'No space left'*) least=262144 ;; *) least=1024 ;; esac
    [ "$(df --output=avail "$work" | tail -n 1)" -lt $least ] || return 0
    echo "No space is left in $work: a build needs 2 GB there. Make room, or give scripts/deb.sh another directory." >&2
    exit 1
}
log=$({ cp "build/packages/tokenkeep-$version.tar.xz" "$work/tokenkeep_$version.orig.tar.xz" &&
    tar -C "$work" -xJf "$work/tokenkeep_$version.orig.tar.xz"; } 2>&1) || {
    echo "$log" >&2
    unless_full "$log"
    exit 1
}
if ! (cd "$work/tokenkeep-$version" && dpkg-buildpackage -us -uc) >"$work/build.log" 2>&1; then
    full=$(grep -m 1 'No space left' "$work/build.log") || :
    [ -z "$full" ] || echo "$full" >&2
    unless_full "$full"
    grep -E 'error:|Error|unmet build dep|is not on the PATH|too old' "$work/build.log" | grep -v 'No space left' | tail -n 5 >&2
    echo "The packages were not built: $work/build.log says why." >&2
    exit 1
fi
[ $# -eq 0 ] || exit 0
rm -f build/packages/*.deb
mv "$work"/*.deb "$work"/*.dsc "$work"/*.debian.tar.xz "$work"/*.orig.tar.xz "$work"/*.changes "$work"/*.buildinfo "$root/build/packages"
ls "$root"/build/packages/*.deb
