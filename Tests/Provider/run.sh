#!/bin/sh
# Tests the provider of org.freedesktop.secrets. Usage: run.sh PROVIDER TOKENKEEP [TEST…]
# A TEST is as test_interface.Items.test_….
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As they are installed: each program finds the other.
mkdir -p "$work/bin" "$work/libexec/tokenkeep"
cp "$1" "$work/libexec/tokenkeep/tokenkeep-secret-service"
cp "$2" "$work/bin/tokenkeep"
PROVIDER=$work/libexec/tokenkeep/tokenkeep-secret-service
TOKENKEEP=$work/bin/tokenkeep
PYTHONPATH=$here/../Support
export PROVIDER TOKENKEEP PYTHONPATH PYTHONDONTWRITEBYTECODE=1
shift 2
[ $# -gt 0 ] || set -- discover -p "test_*.py"
cd "$here"
/usr/bin/python3 -m unittest "$@"
