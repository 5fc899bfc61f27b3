#!/bin/sh
# Builds the documentation of the Swift API into build/TokenKeep.doccarchive. A warning is an error.
set -eu
cd "$(dirname "$0")/.."

# docc may not be on the PATH, as the toolchain's directory need not be.
resources=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["paths"]["runtimeResourcePath"])')
docc=$resources/../../bin/docc
graphs=$(swift package dump-symbol-graph --minimum-access-level public --skip-synthesized-members |
    sed -n 's/^Files written to //p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The modules inside are no part of the API.
cp "$graphs"/TokenKeep.symbols.json "$work"
Tests/Layout/check_swift_api.py "$work/TokenKeep.symbols.json"
mkdir -p build
"$docc" convert Sources/TokenKeep/TokenKeep.docc --additional-symbol-graph-dir "$work" \
    --fallback-display-name TokenKeep --fallback-bundle-identifier org.tokenkeep.TokenKeep \
    --warnings-as-errors --output-dir build/TokenKeep.doccarchive
