#!/bin/sh
# Installs what was built under a narrow umask into an empty place, and removes it again.
#
# Usage: uninstalled.sh BUILD
set -u
[ $# -eq 1 ] && [ -f "$1/cmake_install.cmake" ] || { echo "usage: uninstalled.sh BUILD" >&2; exit 2; }
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
is() {
    if [ "$2" = "$3" ]; then
        echo "ok   $1"
    else
        echo "FAIL $1: expected '$2', got '$3'"
        failed=$((failed + 1))
    fi
}
# Lists the entries below a directory, of the given kinds.
below() { (cd "$1" && shift && find . -mindepth 1 "$@" | sort | tr '\n' ' '); }

for destination in "" "$work/package"; do
    prefix=$work/prefix
    [ -z "$destination" ] || prefix=/opt/tokenkeep
    installed=$destination$prefix
    (
        umask 077
        export DESTDIR="$destination"
        cmake --install "$build" --prefix "$prefix"
        cmake --install "$build" --prefix "$prefix" --component debug
    ) >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    is "the library is installed${destination:+ with DESTDIR}" yes "$([ -n "$(find "$installed" -name 'libtokenkeep.so*')" ] && echo yes)"
    is "everybody may enter each directory" "" "$(below "$installed" -type d ! -perm 0755)"
    is "everybody may read each file" "" "$(below "$installed" -type f ! -perm -0444)"
    is "the debug symbols are installed by their build id" yes \
        "$([ -n "$(find "$installed/lib/debug/.build-id" -name '*.debug')" ] && echo yes)"

    # The lists of a copy name the files of the first installation.
    cp -a "$installed" "$installed-copy"
    files=$(below "$installed" -type f)
    is "a copy is not removed by the lists of another installation" 1 \
        "$(DESTDIR="$destination" "$root/scripts/uninstall.sh" "$prefix-copy" >/dev/null 2>&1; echo $?)"
    is "nothing of either is removed" "$files$files" "$(below "$installed" -type f)$(below "$installed-copy" -type f)"
    rm -r "$installed-copy"

    modules=$(cd "$installed" && find . -type d -path '*/tokenkeep/modules')
    : >"$installed/$modules/theirs.so"
    : >"$installed/bin/theirs"
    DESTDIR="$destination" "$root/scripts/uninstall.sh" "$prefix"
    is "what others installed is all that is left" "./bin/theirs $modules/theirs.so " "$(below "$installed" ! -type d)"
    is "no directory of ours is left but that of others' modules" "${modules%/modules} $modules " \
        "$(below "$installed" -type d -ipath '*tokenkeep*')"
    is "a second removal finds nothing" 1 "$(DESTDIR="$destination" "$root/scripts/uninstall.sh" "$prefix" >/dev/null 2>&1; echo $?)"
done
exit $((failed > 0))
