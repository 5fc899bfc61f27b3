#!/bin/sh
# Removes what `cmake --install` put below a prefix, by the lists that it left there. Needs no build directory.
#
# Usage: uninstall.sh PREFIX      (environment: DESTDIR)
# Files of others stay, and so do the directories that hold them. Lists that name files outside the prefix are refused: such an
# installation was copied or moved, and the files belong to another one. The PAM module may have a directory of its own.
set -eu
[ $# -eq 1 ] || { echo "usage: uninstall.sh PREFIX" >&2; exit 2; }
prefix=$(realpath -ms -- "$1")
prefix=${prefix%/}
root=${DESTDIR:-}
lists=$root$prefix/share/tokenkeep
[ -f "$lists/installed.txt" ] || { echo "uninstall.sh: nothing of TokenKeep is installed in $root$prefix" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat "$lists"/installed*.txt >"$work/all"
ls -d "$lists"/installed*.txt | sed "s|^$root||" >>"$work/all"

# Before anything is removed.
while IFS= read -r path; do
    case $path in
    */../*) ;;
    "$prefix"/* | /*/pam_tokenkeep.so | "") continue ;;
    esac
    echo "uninstall.sh: $lists names $path, which is not in $prefix: nothing was removed" >&2
    echo "hint: an installation that was copied or moved is removed with its directory" >&2
    exit 1
done <"$work/all"

while IFS= read -r path; do
    case $path in
    */) ;;
    /*) rm -f -- "$root$path" ;;
    esac
done <"$work/all"

# The directories of ours, from the deepest on, if they are empty now.
while IFS= read -r path; do
    directory=${path%/*}
    while case ${directory#"$prefix"} in *[Tt]oken[Kk]eep* | */user-runtime-dir@.service.d | */.build-id/??) ;; *) false ;; esac; do
        echo "$directory"
        directory=${directory%/*}
    done
done <"$work/all" | sort -ru | while IFS= read -r directory; do
    rmdir --ignore-fail-on-non-empty -- "$root$directory" 2>/dev/null || true
done
