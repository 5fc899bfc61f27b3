#!/bin/sh
# Builds the RPM packages from the tarball of make dist, and puts them into build/packages.
#
# Usage: rpm.sh
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
umask 022
unset MAKEFLAGS MAKELEVEL MFLAGS
scripts/check-swift.sh
command -v rpmbuild >/dev/null || { echo "rpmbuild is missing: apt-get install rpm, or dnf install rpm-build." >&2; exit 1; }
work=$root/build/packages/rpm
rm -rf "$work"
mkdir -p "$work/SOURCES"
cp build/packages/tokenkeep-*.tar.xz "$work/SOURCES"
# Where there is no data base of RPM packages, as on Debian, make deps has installed what the build needs.
nodeps=
[ -n "$(rpm -qa 2>/dev/null | head -n 1)" ] || nodeps=--nodeps
if ! rpmbuild -bb $nodeps --define "_topdir $work" packaging/tokenkeep.spec >"$work/build.log" 2>&1; then
    tail -n 5 "$work/build.log" >&2
    echo "The packages were not built: $work/build.log says why." >&2
    exit 1
fi
find "$work/RPMS" -name '*.rpm' -exec mv {} build/packages \;
ls build/packages/*.rpm
