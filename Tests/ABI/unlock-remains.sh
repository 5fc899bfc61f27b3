#!/bin/sh
# No password, derived key, key of the vault or secret is in a core of a process during and after an unlock.
#
# Usage: unlock-remains.sh PROGRAM TOKENKEEP      (environment: TOKENKEEP_VAULT)
set -u
program=$1 tokenkeep=$2
here=$(dirname "$0")
if ! command -v gdb >/dev/null || ! /usr/bin/python3 -c 'import nacl.bindings' 2>/dev/null; then
    echo "skip unlock-remains: needs gdb, and python3 with pynacl"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
result=0
random() { od -An -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }
password=$(random 16) secret=$(random 24)
printf %s "$password" >"$work/password"
printf %s "$secret" | "$tokenkeep" save remains a && "$tokenkeep" password set --stdin <"$work/password" || exit 1
"$tokenkeep" lock || exit 1

# A core as the kernel would write it; then all memory, also the memory that is kept out of cores.
cores() {
    echo "set use-coredump-filter on"
    echo "set dump-excluded-mappings off"
    echo "generate-core-file $work/$1.core"
    echo "set use-coredump-filter off"
    echo "set dump-excluded-mappings on"
    echo "generate-core-file $work/$1.memory"
}
{
    echo "handle SIGPROF stop print nopass"
    echo "break is_unlocked"
    echo "break is_loaded"
    echo "run ${#password} <$work/password"
    cores during
    echo "continue"
    cores unlocked
    echo "continue"
    cores loaded
    echo "continue"
} >"$work/commands"
gdb -batch -x "$work/commands" "$program" >"$work/gdb" 2>&1

say() {
    if [ "$1" -eq 0 ]; then echo "ok   $2"; else
        echo "FAIL $2"
        result=1
    fi
}

found() { "$here/find_keys.py" "$TOKENKEEP_VAULT" "$work/$1" "$secret" <"$work/password"; }

stops=$(grep -oE 'signal SIGPROF|Breakpoint [12], |exited normally' "$work/gdb" | tr -d ', ' | tr '\n' ' ')
[ "$stops" = "signalSIGPROF Breakpoint1 Breakpoint2 exitednormally " ]
say $? "the debugger stops in the unlock, after it and after a load"
[ "$result" -eq 0 ] || tail -20 "$work/gdb"
for moment in during unlocked loaded; do
    names=$(found $moment.core) && [ -z "$names" ]
    say $? "a core holds neither password nor key nor secret: $moment${names:+ ($names)}"
done
found during.memory | grep "the password" >/dev/null
say $? "but the memory during the unlock holds the password"
found loaded.memory | grep "the subkey for file names" >/dev/null
say $? "but the memory holds the subkey for file names"
if found unlocked.memory | grep -E "the password|derived from"; then false; fi
say $? "after the unlock no memory holds the password or the key derived from it"
if found loaded.memory | grep "the secret"; then false; fi
say $? "after the load no memory holds the secret"
exit $result
