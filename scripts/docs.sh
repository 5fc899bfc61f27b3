#!/bin/sh
# Writes the page of the C API, and builds the documentation of the Swift API into build/TokenKeep.doccarchive and build/TokenKeepFoundation.doccarchive. A
# warning is an error.
set -eu
cd "$(dirname "$0")/.."
scripts/c-reference.py

# docc may not be on the PATH, as the toolchain's directory need not be.
resources=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["paths"]["runtimeResourcePath"])')
docc=$resources/../../bin/docc
graphs=$(swift package dump-symbol-graph --minimum-access-level public --skip-synthesized-members |
    sed -n 's/^Files written to //p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p build
# The modules inside are no part of the API.
for module in TokenKeep TokenKeepFoundation; do
    mkdir "$work/$module"
    cp "$graphs/$module.symbols.json" "$work/$module"
    Tests/Layout/check_swift_api.py "$work/$module/$module.symbols.json"
    "$docc" convert "Sources/$module/$module.docc" --additional-symbol-graph-dir "$work/$module" \
        --fallback-display-name "$module" --fallback-bundle-identifier "org.tokenkeep.$module" \
        --warnings-as-errors --output-dir "build/$module.doccarchive"
done
