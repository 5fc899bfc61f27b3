#!/bin/sh
# No secret remains: not in a core of a process that let go of it, nor in its arguments, environment or files.
#
# Usage: remains.sh PROGRAM      (environment: TOKENKEEP_VAULT)
set -u
program=$1
if ! command -v gdb >/dev/null; then
    echo "skip remains: needs gdb, to take a core of a process that lives"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
secret=$(od -An -tx1 -N24 /dev/urandom | tr -d ' \n')
result=0

# Runs an action, takes a core while it waits, and leaves in $work what else could show the secret.
core_of() {
    action=$1
    rm -f "$work/input" "$work/said" "$work/core" "$work/memory"
    mkfifo "$work/input" "$work/said"
    "$program" "$action" <"$work/input" >"$work/said" &
    process=$!
    exec 3>"$work/input" 4<"$work/said"
    case $action in save | session) echo "$secret" >&3 ;; esac
    # Returns when the program has let go of the secret, or at its end if it fails.
    read -r said <&4
    [ "$said" = ready ] || { echo "FAIL $action: $said"; result=1; }
    cat /proc/$process/cmdline /proc/$process/environ >"$work/visible"
    # A core as the kernel would write it; then all memory, also what is kept out of cores.
    gdb -batch -p $process -ex "generate-core-file $work/core" -ex "set use-coredump-filter off" \
        -ex "set dump-excluded-mappings on" -ex "generate-core-file $work/memory" >"$work/gdb" 2>&1
    exec 3>&- 4<&-
    wait $process
}

holds_secret() { grep -qaF "$secret" "$1"; }

check() {
    name=$1 expected=$2 file=$3
    if [ ! -s "$file" ]; then
        echo "FAIL $name: nothing to look at"
        tail -3 "$work/gdb"
        result=1
    elif holds_secret "$file"; then
        [ "$expected" = yes ] && echo "ok   $name" || { echo "FAIL $name: the secret is there"; result=1; }
    else
        [ "$expected" = no ] && echo "ok   $name" || { echo "FAIL $name: the secret is not there"; result=1; }
    fi
}

core_of save
check "a process that saved and closed holds no secret in its core" no "$work/core"
check "nor anywhere in its memory" no "$work/memory"
check "nor in its arguments and environment" no "$work/visible"
core_of load
check "a process that loaded, freed and closed holds no secret in its core" no "$work/core"
check "nor anywhere in its memory after a load" no "$work/memory"
check "nor in its arguments and environment after a load" no "$work/visible"
core_of list
check "a process that listed holds no secret in its memory" no "$work/memory"
core_of hold
check "a secret that is held is in no core" no "$work/core"
check "but in the memory" yes "$work/memory"
core_of copy
check "a core of a process that kept a copy in ordinary memory does hold it" yes "$work/core"
core_of session
check "a process that began a session, got its token and closed holds no token in its core" no "$work/core"
check "nor anywhere in its memory" no "$work/memory"
check "nor in its arguments and environment" no "$work/visible"
core_of hold-session
check "the token of an open session is in no core" no "$work/core"
check "but in the memory" yes "$work/memory"
find "$TOKENKEEP_VAULT" -type f -exec cat {} + >"$work/files"
check "the vault's files do not hold it in the clear" no "$work/files"
exit $result
