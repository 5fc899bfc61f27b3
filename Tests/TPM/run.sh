#!/bin/sh
# Tests tokenkeep-tpm2 on software TPMs, as root: its tests are several users. Usage: run.sh PROGRAM [short]
# short: what `make test` runs, without the wire to the TPM and without repetitions.
set -eu
cd "$(dirname "$0")/../.."
program=$1
if [ ! -x "$program" ] || ! command -v swtpm > /dev/null || ! command -v tpm2_createprimary > /dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "skipped: tokenkeep-tpm2, swtpm, tpm2-tools or root are missing: 5 groups of tests of the TPM did not run"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# Users of the tests cannot reach a build directory below root's home.
install -m 755 "$program" "$work/tokenkeep-tpm2"
# The program and its libraries alone hold tss2.
for file in "${program%/libexec/*}"/lib*/libtokenkeep.so "${program%/libexec/*}/bin/tokenkeep"; do
    [ ! -e "$file" ] || ! ldd "$file" | grep -E 'tss2|systemd' || { echo "FAIL $file links it"; exit 1; }
done
groups="machines helper"
[ "${2-}" = short ] || groups="$groups wire endurance unit"
for group in $groups; do
    echo "$group"
    python3 "Tests/TPM/$group.py" "$work/tokenkeep-tpm2"
done
