#!/bin/sh
# Shows what TokenKeep does, in a vault of its own that is removed again. Ends with an error where anything is not as it
# should be. Usage: demo.sh PREFIX
set -eu
prefix=$(cd "$1" && pwd)
examples=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$examples/c/save-load-clear.c" "$work"
cd "$work"
# Relative: what pkg-config prints must hold no space, wherever this lies.
ln -s "$prefix" prefix
PKG_CONFIG_PATH=$(dirname "$(find prefix/ -name tokenkeep.pc)")
LD_LIBRARY_PATH="$prefix/$(dirname "$(cd prefix && find . -name libtokenkeep.so)")"
export TOKENKEEP_VAULT="$work/vault" XDG_CONFIG_HOME="$work/config" PATH="$prefix/bin:$PATH"
export PKG_CONFIG_PATH LD_LIBRARY_PATH

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

# Shows and runs a command that must succeed.
run() { run_expecting 0 "$@"; }

# Shows and runs a command that must end with the exit code.
run_expecting() {
    wanted=$1 code=0
    shift
    printf '$ %s\n' "$*"
    sh -c "$*" || code=$?
    [ "$code" -eq 0 ] || printf '(exit code %s)\n' "$code"
    [ "$code" -eq "$wanted" ] || { echo "demo.sh: the exit code is not $wanted" >&2; exit 1; }
}

say "A C program saves, loads and clears a token."
run "cc -o example save-load-clear.c \$(pkg-config --cflags --libs tokenkeep)"
run "./example"

say "The same from the shell. The secret comes from standard input, never from an argument."
run "printf 's3cr3t' | tokenkeep save example.com ann --label 'Work account'"
record=$(find vault/records -type f)
run "printf 'other' | tokenkeep save example.com bob --expires +30d"
run "tokenkeep list"
run "tokenkeep load example.com ann && echo"

say "What lies on the disk: encrypted records under names that tell nothing."
run "ls -l vault vault/records"
run "! grep -rq s3cr3t vault && echo 'No file of the vault shows the secret.'"

say "A record that was damaged is reported, never deleted; the others are unharmed."
printf 'X' | dd of="$record" bs=1 seek=200 conv=notrunc status=none
run_expecting 7 "tokenkeep load example.com ann"
run "tokenkeep load example.com bob && echo"

say "Signing out."
run "tokenkeep clear example.com bob"
run_expecting 1 "tokenkeep load example.com bob"
run "tokenkeep status"
