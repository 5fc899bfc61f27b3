#!/bin/sh
# Tests the provider of org.freedesktop.secrets. Usage: run.sh PROVIDER TOKENKEEP [TEST…]
# A TEST is as test_interface.Items.test_….
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PROVIDER=$(realpath "$1")
TOKENKEEP=$(realpath "$2")
PYTHONPATH=$here/../Support
export PROVIDER TOKENKEEP PYTHONPATH PYTHONDONTWRITEBYTECODE=1
shift 2
[ $# -gt 0 ] || set -- discover -p "test_*.py"
cd "$here"
exec /usr/bin/python3 -m unittest "$@"
