#!/bin/sh
# Builds the Debian packages of the tarball of make dist twice and compares them byte by byte: in directories of other names, with
# another home, umask, locale and time zone, and the second time without a network. Not on a single processor: there swift build of
# 6.3 waits for itself.
#
# Usage: compare-builds.sh      (diffoscope says more about a difference, if it is installed)
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"

scripts/deb.sh "$work/one"
alone=
[ "$(id -u)" != 0 ] || alone="unshare -n"
# shellcheck disable=SC2086
(umask 077 && TZ=Pacific/Chatham LC_ALL=C.UTF-8 HOME="$work/home" DEB_BUILD_OPTIONS=parallel=1 \
    $alone scripts/deb.sh "$work/another-place-of-a-longer-name" >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
different=0
for package in "$work"/one/*.deb; do
    other="$work/another-place-of-a-longer-name/$(basename "$package")"
    cmp -s "$package" "$other" && continue
    # The debug symbols of Swift still name something of the directory: .debug_str and what points into it.
    case $package in *-dbgsym_*) echo "note: $(basename "$package") differs"; continue ;; esac
    echo "$(basename "$package") differs"
    ! command -v diffoscope >/dev/null || diffoscope "$package" "$other" | head -n 40
    different=1
done
[ $different -ne 0 ] || echo "Both builds are the same: $(ls "$work"/one/*.deb | wc -l) packages but for what is noted"
exit $different
