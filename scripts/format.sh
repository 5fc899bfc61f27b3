#!/bin/sh
# Formats Swift and C in place; with --check says what is not formatted and fails.
set -eu
cd "$(dirname "$0")/.."

swift_code="Package.swift Sources Tests"
[ -d examples ] && swift_code="$swift_code examples"
c_code=$(git ls-files --cached --others --exclude-standard '*.c' '*.h')

if [ "${1:-}" = "--check" ]; then
    # shellcheck disable=SC2086
    swift format lint --strict --recursive --parallel $swift_code
    # shellcheck disable=SC2086
    clang-format --dry-run --Werror $c_code
else
    # shellcheck disable=SC2086
    swift format --in-place --recursive --parallel $swift_code
    # shellcheck disable=SC2086
    clang-format -i $c_code
fi
