#!/bin/sh
# Tests the provider of org.freedesktop.secrets. Usage: run.sh PROVIDER TOKENKEEP [TEST…]
# A TEST is as test_interface.Items.test_…. Without one, all classes of tests run, four at a time: they mostly wait.
# The programs live by the tests' clock: a stalled machine meets their limits. Each class has a clock of its own, because
# a test that sets the clock forward would end the limits of all others.
set -eu
unset TOKENKEEP_TEST_CLOCK LD_PRELOAD
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As they are installed: each program finds the other.
mkdir -p "$work/bin" "$work/libexec/tokenkeep"
cp "$1" "$work/libexec/tokenkeep/tokenkeep-secret-service"
cp "$2" "$work/bin/tokenkeep"
cp "$(dirname "$2")/tokenkeep-credential" "$work/bin/"
for helper in git-credential-tokenkeep docker-credential-tokenkeep; do ln -s tokenkeep-credential "$work/bin/$helper"; done
PROVIDER=$work/libexec/tokenkeep/tokenkeep-secret-service
TOKENKEEP=$work/bin/tokenkeep
PYTHONPATH=$here/../Support
# Programs of the tests have the display that a test gives them.
unset DISPLAY WAYLAND_DISPLAY
CLOCK=$here/../Support/Clock/run.sh
export PROVIDER TOKENKEEP PYTHONPATH CLOCK PYTHONDONTWRITEBYTECODE=1
shift 2
cd "$here"
if [ $# -gt 0 ]; then
    exec "$CLOCK" /usr/bin/python3 -m unittest "$@"
fi
for file in test_*.py; do
    sed -n "s/^class \([A-Z][A-Za-z]*\)(.*/${file%.py}.\1/p" "$file"
done | grep -v -e 'interface.Case$' -e 'locks.Locked$' -e 'locks.Asking$' -e 'replays.Replaying$' -e 'order.Ordered$' -e 'real_keyring.WithKeyring$' | sort -r > "$work/classes"
# shellcheck disable=SC2016
xargs -P 4 -I{} sh -c '
    if "$CLOCK" /usr/bin/python3 -m unittest "$1" > "$0/$1" 2>&1; then
        echo "ok: $1 ($(sed -n "s/^Ran \(.*\)/\1/p" "$0/$1"))"
    else
        cat "$0/$1"
        echo "FAIL: $1"
        exit 1
    fi' "$work" {} < "$work/classes"
