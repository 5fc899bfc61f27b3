#!/bin/sh
# scripts/install-dependencies.sh looks for Swift before it calls apt, and calls apt only if something is missing: false
# toolchains and a false apt in place of the machine's.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

program() { # NAME: a program of the false machine, from standard input
    { echo '#!/bin/sh'; cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

machine() { # one that has nothing but a shell and its tools
    rm -rf "$work/bin"
    mkdir "$work/bin"
    for tool in sh sed sort head tail grep id; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
    echo 'exec "$@"' | program sudo
    echo 'shift; exec "$@"' | program env
    echo "echo \"apt-get \$1\"; [ \$1 = update ] || : >'$work/installed'" | program apt-get
    echo 'echo "install ok installed"' | program dpkg-query
    : | program ld.gold
    rm -f "$work/installed"
}

expect() { # NAME, the expected lines on standard input
    cat >"$work/expected"
    PATH="$work/bin" sh "$root/scripts/install-dependencies.sh" library >"$work/printed" 2>&1
    if cmp -s "$work/expected" "$work/printed"; then return; fi
    echo "FAIL install-dependencies.sh: $1"
    diff "$work/expected" "$work/printed"
    failed=1
}

machine
expect "a machine without Swift" <<'END'
Swift is not on the PATH: install 6.2 or later from https://www.swift.org/install/linux and put its usr/bin there.
END
echo 'echo "Swift version 6.1.2 (swift-6.1.2-RELEASE)"' | program swift
echo 'exit 1' | program dpkg-query
expect "a toolchain that is too old" <<'END'
Swift 6.1 is too old: install 6.2 or later from https://www.swift.org/install/linux and put its usr/bin on the PATH.
END
machine
echo 'echo "Swift version 6.10 (swift-6.10-RELEASE)"' | program swift
expect "a machine that has everything" </dev/null
program dpkg-query <<'END'
case ${3-} in
libsodium-dev) exit 1 ;;
"") echo "ii , other, libsodium-dev (= 1.0.18), another," ;;
*) echo "install ok installed" ;;
esac
END
expect "a machine where another package provides one of the list" </dev/null
echo 'echo "install ok installed"' | program dpkg-query
rm "$work/bin/ld.gold"
expect "a machine without a linker" <<'END'
Installing: binutils-gold
apt-get update
END
machine
echo "[ -e '$work/installed' ] && echo 'Swift version 6.3.1' || { echo 'swift: libncurses.so.6 is missing' >&2; exit 127; }" |
    program swift
expect "a toolchain whose libraries are missing" <<'END'
Installing: libncurses6 libsqlite3-0 libxml2 libcurl4 libuuid1 zlib1g libstdc++6
apt-get update
END
echo 'echo "swift: no such file" >&2; exit 127' | program swift
expect "a toolchain that starts with no library" <<'END'
Installing: libncurses6 libsqlite3-0 libxml2 libcurl4 libuuid1 zlib1g libstdc++6
apt-get update
Swift does not start: swift: no such file
END
[ $failed -ne 0 ] || echo "install-dependencies.sh: 7 machines, 0 faults"
exit $failed
