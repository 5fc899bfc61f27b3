#!/bin/sh
# Builds the Debian packages of make deb once more and compares both byte by byte: in a directory of another name, and with another
# home, umask, locale, time zone and number of jobs; as root also by another user, under another host name and without a network; with
# faketime at another time. Not on a single processor: there swift build of 6.3 waits for itself.
#
# Usage: compare-builds.sh      (after make deb; diffoscope says more about a difference, if it is installed)
set -eu
cd "$(dirname "$0")/.."
ls build/packages/tokenkeep_*.changes >/dev/null 2>&1 || { echo "compare-builds: make deb comes before." >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
place="$work/another-place-of-a-longer-name"
mkdir "$work/home"

# What make deb reads, where another user may read it: the clone may lie in root's home.
tree=$work/tree
mkdir -p "$tree/build/packages"
cp -r scripts include "$tree"
cp build/packages/tokenkeep-*.tar.xz "$tree/build/packages"

# A locale whose small i is not that of the others, if the system can make it.
locale=C.UTF-8
! localedef -i tr_TR -f UTF-8 "$work/tr_TR.UTF-8" 2>/dev/null || locale=tr_TR.UTF-8
set -- "$tree/scripts/deb.sh" "$place"
varied="directory home umask locale zone jobs"
if command -v faketime >/dev/null; then
    # The monotonic clock stays: programs wait by it.
    set -- env FAKETIME_DONT_FAKE_MONOTONIC=1 faketime -f +400d "$@"
    varied="$varied time"
fi
if [ "$(id -u)" = 0 ]; then
    chown -R 65534:65534 "$work"
    HOME="$work/home" TMPDIR="$work/home" setpriv --reuid 65534 --regid 65534 --clear-groups "$tree/scripts/check-swift.sh" >/dev/null 2>&1 || {
        echo "compare-builds: the user 65534 cannot run Swift, or not read $work: move it out of root's home." >&2
        exit 2
    }
    # shellcheck disable=SC2016
    set -- unshare --net --uts sh -c 'hostname elsewhere && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' sh "$@"
    varied="$varied user host network"
fi
(umask 077 && TZ=Pacific/Chatham LC_ALL=$locale LOCPATH="$work" HOME="$work/home" TMPDIR="$work/home" DEB_BUILD_OPTIONS=parallel=1 \
    "$@" >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }

different=0
for package in build/packages/*.deb; do
    other="$place/$(basename "$package")"
    cmp -s "$package" "$other" && continue
    # The debug symbols of Swift still name something of the directory: .debug_str and what points into it.
    case $package in *-dbgsym_*) echo "note: $(basename "$package") differs"; continue ;; esac
    echo "$(basename "$package") differs"
    ! command -v diffoscope >/dev/null || diffoscope "$package" "$other" | head -n 40
    different=1
done
[ $different -ne 0 ] || echo "Both builds are the same: $(ls build/packages/*.deb | wc -l) packages but for what is noted (varied: $varied)"
exit $different
