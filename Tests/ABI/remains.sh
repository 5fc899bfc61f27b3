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
    rm -f "$work/input" "$work/core" "$work/said"
    mkfifo "$work/input"
    "$program" "$action" <"$work/input" >"$work/said" 2>&1 &
    process=$!
    exec 3>"$work/input"
    [ "$action" = save ] && echo "$secret" >&3
    # The program says "ready" when it is; it ends by itself if it fails.
    until grep -q '^ready' "$work/said"; do
        kill -0 $process 2>/dev/null || break
        sleep 0.05
    done
    cat /proc/$process/cmdline /proc/$process/environ >"$work/visible"
    gdb -batch -p $process -ex "generate-core-file $work/core" >"$work/gdb" 2>&1
    exec 3>&-
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
check "nor in its arguments and environment" no "$work/visible"
core_of load
check "a process that loaded, freed and closed holds no secret in its core" no "$work/core"
check "nor in its arguments and environment after a load" no "$work/visible"
core_of list
check "a process that listed holds no secret in its core" no "$work/core"
core_of copy
check "a core of a process that kept a copy does hold it" yes "$work/core"
cat "$TOKENKEEP_VAULT"/records/* "$TOKENKEEP_VAULT"/header >"$work/files"
check "the vault's files do not hold it in the clear" no "$work/files"
exit $result
