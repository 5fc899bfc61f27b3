#!/bin/sh
# Shows what TokenKeep does, in a vault of its own that is removed again. Usage: demo.sh PREFIX
set -eu
prefix=$1
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TOKENKEEP_VAULT="$work/vault" XDG_CONFIG_HOME="$work/config" PATH="$prefix/bin:$PATH"
PKG_CONFIG_PATH="$(dirname "$(find "$prefix" -name tokenkeep.pc)")"
LD_LIBRARY_PATH="$(dirname "$(find "$prefix" -name libtokenkeep.so)")"
export PKG_CONFIG_PATH LD_LIBRARY_PATH

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; sh -c "$*" || printf '(exit code %s)\n' "$?"; }

say "A C program saves, loads and clears a token."
run "cc -o $work/example $here/c/save-load-clear.c \$(pkg-config --cflags --libs tokenkeep)"
run "$work/example"

say "The same from the shell. The secret comes from standard input, never from an argument."
run "printf 's3cr3t' | tokenkeep save example.com ann --label 'Work account'"
run "printf 'other' | tokenkeep save example.com bob --expires +30d"
run "tokenkeep list"
run "tokenkeep load example.com ann; echo"

say "What lies on the disk: encrypted records under names that tell nothing."
run "ls -l $work/vault $work/vault/records"
run "grep -c s3cr3t -r $work/vault"

say "A record that was damaged is reported, never deleted; the others are unharmed."
printf 'X' | dd of="$(find "$work/vault/records" -type f | head -n 1)" bs=1 seek=200 conv=notrunc status=none
run "tokenkeep load example.com ann; tokenkeep load example.com bob"

say "Signing out."
run "tokenkeep clear example.com --all"
run "tokenkeep status"
