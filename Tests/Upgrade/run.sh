#!/bin/bash
# The vaults of every kind that the releases before have written, read by this program; a program and a module that were built with
# their headers, run with this library; and an older program, if one is given, at the same time on one vault.
#
# Usage: run.sh PREFIX [OLDER_PREFIX]      as root
set -u
[ $# -ge 1 ] && [ -x "$1/bin/tokenkeep" ] || { echo "usage: run.sh PREFIX [OLDER_PREFIX]" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "skipped upgrades: a machine with an id of its own needs root"; exit 0; }
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$1" && pwd)
older=${2:+$(cd "$2" && pwd)}
libraries=$(dirname "$(find "$prefix" -name libtokenkeep.so -print -quit)")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/../Packages/lib.sh"

same() { # NAME EXPECTED FOUND: files
    if diff "$2" "$3" >"$work/diff" 2>&1; then ok "$1"; else
        fail "$1"
        cat "$work/diff"
    fi
}

for release in "$here"/[0-9]*; do
    name=$(basename "$release")
    for fixture in "$release"/*.tar.xz; do
        kind=$(basename "$fixture" .tar.xz)
        timeout 300 "$here/read.sh" "$prefix/bin/tokenkeep" "$fixture" >"$work/read" 2>&1
        same "$name: $kind" "$release/$kind.txt" "$work/read"
    done
    # Never rebuilt: the headers and the names of the release, the library of today.
    if cc -std=c11 -I"$release/include" "$release/program.c" -L"$libraries" -ltokenkeep -o "$work/program" 2>"$work/log"; then
        HOME=$work/home-$name LD_LIBRARY_PATH=$libraries TOKENKEEP_VAULT=$work/vault-$name "$work/program" >"$work/printed" 2>&1
        is "$name: a program built with its headers" "the token says bob" "$(tail -n 1 "$work/printed")"
    else
        fail "$name: its program does not build: $(head -n 1 "$work/log")"
    fi
    if cc -shared -fPIC -O2 -I"$release/include" "$release/module.c" -o "$work/module.so" 2>"$work/log"; then
        is "$name: a module built with its headers" "0 failed" \
            "$("$prefix/bin/tokenkeep" module check "$work/module.so" 2>&1 | tail -n 1 | grep -ow '0 failed')"
    else
        fail "$name: its module does not build: $(head -n 1 "$work/log")"
    fi
done

# Two releases on one vault: each sees what the other wrote a moment ago.
if [ -n "$older" ]; then
    export HOME="$work/home" TOKENKEEP_VAULT="$work/shared" XDG_CONFIG_HOME="$work/config"
    mkdir -p "$HOME"
    wrong=0
    for turn in $(seq 1 20); do
        printf "old $turn" | "$older/bin/tokenkeep" save example.com turn --stack "any required vault"
        [ "$("$prefix/bin/tokenkeep" load example.com turn --stack "any required vault")" = "old $turn" ] || wrong=$((wrong + 1))
        printf "new $turn" | "$prefix/bin/tokenkeep" save example.com turn --stack "any required vault"
        [ "$("$older/bin/tokenkeep" load example.com turn --stack "any required vault")" = "new $turn" ] || wrong=$((wrong + 1))
    done
    is "two releases take turns on one vault" 0 "$wrong"
    for writer in "$older" "$prefix"; do
        for item in $(seq 1 30); do printf x | "$writer/bin/tokenkeep" save "$(basename "$(dirname "$writer")")$writer" "$item" --stack "any required vault"; done &
    done
    wait
    is "two releases write at the same time" 61 "$("$prefix/bin/tokenkeep" list --stack "any required vault" | sed 1d | wc -l)"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
