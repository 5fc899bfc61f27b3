#!/bin/sh
# Links the static archive that SwiftPM made into the shared library, self-contained and exporting the C API alone.
#
# Usage: link-library.sh ARCHIVE SYMBOLS SONAME LIBRARY DEBUG      (environment: SWIFTC, LLVM_OBJCOPY, UNRETAIN)
# LIBRARY is the file; its links for the loader (SONAME) and the linker (without a number) are made beside it, and LIBRARY.archives,
# the linker's list of the objects that it took from archives. The debug symbols go to the directory DEBUG.
set -eu
archive=$1 symbols=$2 soname=$3 library=$4 debug=$5
directory=$(dirname "$library")
scripts=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$directory"

# One version node per release, in the order of the file, each built on the one before.
awk '
    !/^#/ && NF == 2 {
        if (!($2 in names)) order[++count] = $2
        names[$2] = names[$2] "        " $1 ";\n"
    }
    END {
        for (i = 1; i <= count; i++) {
            printf "%s {\n    global:\n%s", order[i], names[order[i]]
            if (i == 1) printf "    local:\n        *;\n"
            printf "}%s;\n\n", (i > 1 ? " " order[i - 1] : "")
        }
    }' "$symbols" >"$work/exports.map"
awk '!/^#/ && NF == 2 { print $1 }' "$symbols" >"$work/names"

# One object of the whole archive: swiftc passes --exclude-libs ALL, so an archive given to it exports nothing.
ld -r --whole-archive "$archive" -o "$work/all.o"

# Swift makes exports PROTECTED; a program without -pie that takes a function's address then fails to link.
# Without tables for unwinding it is 0.6 MB smaller. No exception passes through the library, and debuggers find their way by
# frame pointers.
"${LLVM_OBJCOPY:-llvm-objcopy}" --remove-section=.eh_frame --remove-section=.rela.eh_frame \
    "--set-symbols-visibility=$work/names=default" "$work/all.o" "$work/visible.o"
# What the API does not reach goes, public or not: 0.7 MB with Swift's standard library below.
"$UNRETAIN" "$work/visible.o" "$work/called.o"

# The C++ runtime that Swift's own runtime needs goes in: loading it costs 0.4 ms at each start of a program, a fifth of
# all. -lstdc++ stands in the toolchain's own arguments; a directory that has the archive alone comes first.
mkdir "$work/static"
ln -s "$("${CC:-cc}" -print-file-name=libstdc++.a)" "$work/static/libstdc++.a"

# So do libargon2 and libjansson, if the system has archives of them: 60 KB in place of libraries to load at each start.
# jansson also gets our allocator so, which wipes tokens, and a program's own jansson keeps its own.
for name in libargon2.a libjansson.a; do
    found=$("${CC:-cc}" -print-file-name=$name)
    [ ! -e "$found" ] || ln -s "$found" "$work/static/$name"
done

# Distributions compile the archive for programs: its one use of a variable of the C library, stdin, cannot stand in a
# shared library. It is in a function for files that nothing calls.
if [ -e "$work/static/libjansson.a" ]; then
    "${LLVM_OBJCOPY:-llvm-objcopy}" --redefine-sym=stdin=tokenkeep_json_no_input \
        "$(readlink "$work/static/libjansson.a")" "$work/jansson.a"
    mv "$work/jansson.a" "$work/static/libjansson.a"
fi

# Half a megabyte less: Swift's standard library without such tables, too. Another half goes with the names of all characters
# (no-scalar-names.c), whose function becomes weak, so that ours replaces it.
core=$(dirname "$(command -v "${SWIFTC:-swiftc}")")/../lib/swift_static/linux/libswiftCore.a
[ -e "$core" ] || core=$(dirname "${LLVM_OBJCOPY:-llvm-objcopy}")/../lib/swift_static/linux/libswiftCore.a
small_core=
if [ -e "$core" ]; then
    "${LLVM_OBJCOPY:-llvm-objcopy}" --remove-section=.eh_frame --remove-section=.rela.eh_frame \
        --weaken-symbol=_swift_stdlib_getScalarName "$core" "$work/core.a"
    "$UNRETAIN" "$work/core.a" "$work/static/libswiftCore.a"
    "${CC:-cc}" -O2 -fPIC -c "$scripts/no-scalar-names.c" -o "$work/no-scalar-names.o"
    small_core="$work/no-scalar-names.o $work/static/libswiftCore.a"
fi

# A tenth of the relocations' size. glibc before 2.36 refuses to load such a library, so it is left to machines that have a
# later one: what is built there needs it as well.
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc //')
packed=
if [ -n "$glibc" ] && [ "$(printf '%s\n' 2.36 "$glibc" | sort -V | head -n 1)" = 2.36 ]; then
    packed="-Xlinker -z -Xlinker pack-relative-relocs"
fi

# -use-ld=lld           gold leaks Swift's symbols through a version script
# --no-undefined-version  a symbol of the script that the archive lacks is an error
# --gc-sections, --icf  drop what the API does not reach, fold what is the same
# nodelete              the Swift runtime cannot be unloaded: dlclose must not try
# now, relro            nothing writable is left that calls go through
# -static-libgcc        with the C++ runtime above
# --exclude-libs        nothing of an archive is exported, whatever it says
# same-anywhere.lds     nothing depends on the build's directory
# backtrace-room.lds    zeros take no room in the file
# -largon2, -ljansson   what C code needs, no module of Swift's names
# --build-id            room for the hash that separate-debug.sh writes
# --as-needed           the modules of libsodium and libc name what they need; no more
# --no-undefined        what is missing is missed here, not when a program starts
# shellcheck disable=SC2086
"${SWIFTC:-swiftc}" -emit-library -static-stdlib -use-ld=lld "$work/called.o" $small_core -o "$work/library" \
    -Xlinker "--version-script=$work/exports.map" -Xlinker --no-undefined-version \
    -Xlinker -soname="$soname" \
    -Xlinker --gc-sections -Xlinker --icf=all \
    $packed \
    -Xlinker -T -Xlinker "$scripts/same-anywhere.lds" -Xlinker -T -Xlinker "$scripts/backtrace-room.lds" \
    -Xlinker -z -Xlinker nodelete \
    -Xlinker -z -Xlinker now -Xlinker -z -Xlinker relro \
    -L"$work/static" -largon2 -ljansson -Xclang-linker -static-libgcc -Xlinker --exclude-libs=ALL \
    -Xlinker --as-needed -Xlinker --no-undefined \
    -Xlinker --build-id=0x0000000000000000000000000000000000000000 -Xlinker "--why-extract=$library.archives"
"$scripts/separate-debug.sh" "$work/library" "$debug"

mv "$work/library" "$library"
ln -sf "$(basename "$library")" "$directory/$soname"
ln -sf "$soname" "$directory/${soname%%.so*}.so"
