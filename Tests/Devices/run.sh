#!/bin/sh
# Runs a test of levels that are bound to a device, as root: it has machines and users. Usage: run.sh PREFIX TEST [ARGUMENT…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1
test=$2
shift 2
if [ ! -x "$prefix/libexec/tokenkeep/tokenkeep-tpm2" ] || ! command -v swtpm > /dev/null || ! command -v tpm2_clear > /dev/null ||
    ! unshare --mount true 2> /dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "skipped: tokenkeep-tpm2, swtpm, tpm2-tools or root are missing: $test did not run"
    exit 0
fi
exec /usr/bin/python3 "$here/$test" "$prefix" "$@"
