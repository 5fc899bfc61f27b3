#!/bin/sh
# Fuzzes the reader of requests of tokenkeep-tpm2 with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
# Usage: fuzz.sh SECONDS
set -eu
cd "$(dirname "$0")/../.."
build=build/fuzz-tpm
mkdir -p "$build/found"
clang -fuse-ld=lld -std=gnu11 -g -O1 -Wall -Wextra -Werror -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    Sources/tpm2/protocol.c Tests/TPM/fuzz_request.c -o "$build/fuzz-request"
# One request of each kind to begin with.
python3 Tests/TPM/seeds.py "$build/seeds"
if "$build/fuzz-request" -max_total_time="${1:?usage: fuzz.sh SECONDS}" -max_len=2100 -timeout=5 -print_final_stats=1 \
    -artifact_prefix="$build/crash-" "$build/found" "$build/seeds" > "$build/log" 2>&1; then
    echo "ok   requests of tokenkeep-tpm2: $(sed -n 's/^stat::number_of_executed_units: //p' "$build/log") inputs, $(ls "$build/found" | wc -l) kept"
else
    tail -30 "$build/log"
    echo "FAIL requests of tokenkeep-tpm2"
    exit 1
fi
