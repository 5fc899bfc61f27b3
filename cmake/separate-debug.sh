#!/bin/sh
# Takes the debug symbols out of a linked program or library and keeps them in a file that debuggers find by the build id.
#
# Usage: separate-debug.sh FILE DIRECTORY      (environment: LLVM_OBJCOPY)
# FILE is linked with a build id of 20 bytes. The symbols go to DIRECTORY/.build-id/XX/REST.debug. The build id becomes the hash
# of FILE without its symbols, which name the build's directory: FILE is the same wherever it is built.
set -eu
file=$1 directory=$2
objcopy=${LLVM_OBJCOPY:-llvm-objcopy}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$objcopy" --only-keep-debug "$file" "$work/debug"
"$objcopy" --strip-all "$file" "$work/stripped"
id=$(sha1sum "$work/stripped" | cut -c1-40)

# The note of a build id: the lengths of its name and its bytes, the type 3, the name, the bytes.
{
    printf '\004\000\000\000\024\000\000\000\003\000\000\000GNU\000'
    echo "$id" | sed 's/../\\x&/g' | xargs -0 printf '%b' | head -c 20
} >"$work/note"
for name in debug stripped; do
    "$objcopy" --update-section .note.gnu.build-id="$work/note" "$work/$name"
done
target=$directory/.build-id/$(echo "$id" | cut -c1-2)
rm -rf "$directory/.build-id"
mkdir -p "$target"
mv "$work/debug" "$target/$(echo "$id" | cut -c3-).debug"
cat "$work/stripped" >"$file"
