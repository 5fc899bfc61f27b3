#!/bin/bash
# Each mistake of a packager ends with a line that says what to do, before anything is compiled.
#
# Usage: wrong_use.sh
set -u
exec </dev/null
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/lib.sh"

# A tree without a build, with the scripts alone.
tree=$work/tree
mkdir -p "$tree/include/tokenkeep" "$tree/build/packages" "$work/bin"
cp -r "$root/scripts" "$root/packaging" "$root/debian" "$root/Makefile" "$tree"
cp "$root/include/tokenkeep/version.h" "$tree/include/tokenkeep"
for tool in sh bash sed sort head tail dirname make env id grep cat rm mkdir cp tar mktemp; do
    ln -sf "$(command -v $tool)" "$work/bin/$tool"
done
swift_says() { # what a false swift prints, and its exit code
    printf '#!/bin/sh\necho "%s"\nexit %d\n' "$1" "$2" >"$work/bin/swift"
    chmod +x "$work/bin/swift"
}
last() { PATH="$work/bin" "$@" 2>&1 | tail -n 1; }

advice="install 6.2 or later from https://www.swift.org/install/linux and put its usr/bin"
is "no Swift: make deb" "Swift is not on the PATH: $advice there." "$(last "$tree/scripts/deb.sh")"
is "no Swift: make rpm" "Swift is not on the PATH: $advice there." "$(last "$tree/scripts/rpm.sh")"
swift_says "Swift version 5.10 (swift-5.10-RELEASE)" 0
is "Swift 5: make deb" "Swift 5.10 is too old: $advice on the PATH." "$(last "$tree/scripts/deb.sh")"
swift_says "swift: libncurses.so.6 is missing" 127
does_not_start="Swift does not start (swift: libncurses.so.6 is missing): install what is missing, or the toolchain for this system from"
is "a Swift that does not start" "$does_not_start https://www.swift.org/install/linux." "$(last "$tree/scripts/check-swift.sh")"
swift_says "Swift version 6.2 (swift-6.2-RELEASE)" 0
is "Swift 6.2 is enough" "dpkg-buildpackage is missing: make deps installs it." "$(last "$tree/scripts/deb.sh")"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-buildpackage"
chmod +x "$work/bin/dpkg-buildpackage"
mkdir "$work/home"
echo kept >"$work/home/.letters"
is "make deb in a directory of other files" "$work/home has other files than those of a build: give scripts/deb.sh a new directory." \
    "$(cd "$work" && last "$tree/scripts/deb.sh" home)"
is "the other files" kept "$(cat "$work/home/.letters")"
rm "$work/bin/dpkg-buildpackage"
is "no rpmbuild" "rpmbuild is missing: apt-get install rpm, or dnf install rpm-build." "$(last "$tree/scripts/rpm.sh")"

is "another architecture than the machine's" "A build for riscv64 needs a machine of that architecture: Swift does not cross-compile here." \
    "$(cd "$tree" && DEB_HOST_ARCH=riscv64 DEB_HOST_GNU_TYPE=riscv64-linux-gnu make -s -f debian/rules override_dh_auto_configure 2>&1 | grep '^A build')"

# CMake says the same before it compiles anything, and its next try looks for Swift again.
for tool in cmake cc as ld ar getconf uname; do ln -sf "$(command -v $tool)" "$work/bin/$tool"; done
configured() { PATH="$work/bin" cmake -S "$root" -B "$work/configured" "$@" 2>&1 | grep '^ *Swift' | sed 's/^ *//'; }
rm "$work/bin/swift"
is "no Swift: make library" "Swift is not on the PATH: $advice there." "$(configured | paste -sd ' ')"
swift_says "Swift version 5.10 (swift-5.10-RELEASE)" 0
is "Swift 5: make library" "Swift 5.10 is too old: $advice on the PATH." "$(configured | paste -sd ' ')"
is "the next try, with Swift" "" "$(PATH="$(dirname "$(command -v swift)"):$work/bin" cmake -S "$root" -B "$work/configured" 2>&1 | grep SwiftToolchain)"
swift_says "Swift version 6.2 (swift-6.2-RELEASE)" 0
rm "$work/bin/cc"

# Without a clone, and without a network.
is "make dist without a clone" "make dist needs a clone: git has no commit here." "$(cd "$tree" && GIT_CEILING_DIRECTORIES=$work scripts/dist.sh 2>&1 | tail -n 1)"
git -C "$tree" init -q && git -C "$tree" add -A &&
    git -C "$tree" -c user.name=a -c user.email=a@b commit -qm one
sed -i 's|https://github.com/apple|file:///nowhere|' "$tree/packaging/swift-packages.txt"
is "make dist without a network" \
    "file:///nowhere/swift-argument-parser cannot be fetched: run make dist with a network, or make library before." \
    "$(cd "$tree" && scripts/dist.sh 2>/dev/null; cd "$tree" && scripts/dist.sh 2>&1 | tail -n 1)"
is "a failed make dist leaves nothing" "" "$(ls "$tree/build/packages")"

# A build in a clone fetches the Swift packages first; its next try has them, here from those of this tree's build.
if [ "$(id -u)" = 0 ] && ls "$root"/.build*/repositories/swift-argument-parser-* >/dev/null 2>&1; then
    mkdir "$work/cache"
    : >"$work/gitconfig"
    fetched() {
        HOME="$work/cache" GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL="$work/gitconfig" unshare -n cmake -S "$root" -B "$work/fetched" \
            -DTOKENKEEP_SCRATCH_PATH="$work/scratch" 2>&1
    }
    is "make library without a network" \
        "The Swift packages cannot be fetched: build with a network, or from the tarball of make dist, which has them." \
        "$(fetched | grep -o 'The Swift packages.*')"
    for package in swift-argument-parser swift-system; do
        repository=$(ls -d "$root"/.build*/repositories/$package-* | head -n 1)
        git config -f "$work/gitconfig" "url.file://$repository.insteadOf" "https://github.com/apple/$package"
    done
    is "the next try, with a network" "-- Build files have been written to: $work/fetched" "$(fetched | tail -n 1)"
fi

# A disk that is full before, and in the middle; with room, the next try gets further.
if [ "$(id -u)" = 0 ]; then
    version=$(sed -n 's/.*define TOKENKEEP_VERSION  *"\(.*\)".*/\1/p' "$root/include/tokenkeep/version.h")
    mkdir -p "$work/tokenkeep-$version" "$work/disk"
    head -c 600000 /dev/urandom >"$work/tokenkeep-$version/source"
    tar -C "$work" -cJf "$tree/build/packages/tokenkeep-$version.tar.xz" "tokenkeep-$version"
    building() { # COMMANDS of a dpkg-buildpackage that fails
        printf '#!/bin/sh\n%s; exit 1\n' "$1" >"$work/bin/dpkg-buildpackage"
        chmod +x "$work/bin/dpkg-buildpackage"
    }
    building 'head -c 4000000 /dev/zero >object && echo "error: this source is none"'
    for tool in df tail xz; do ln -sf "$(command -v $tool)" "$work/bin/$tool"; done
    on_disk() { # SIZE: what deb.sh says on a disk of that size
        unshare -m sh -c 'mount -t tmpfs -o size="$1" disk "$2" && shift 2 && PATH="$1" "$2" "$3" 2>&1 | tail -n '"${lines:-1}" \
            sh "$1" "$work/disk" "$work/bin" "$tree/scripts/deb.sh" "$work/disk/place"
    }
    no_room="No space is left in $work/disk/place: a build needs 2 GB there. Make room, or give scripts/deb.sh another directory."
    is "a disk too small for the source" "$no_room" "$(on_disk 900k)"
    is "a disk that is full in the middle of make deb" "$no_room" "$(on_disk 4m)"
    is "another fault on a disk with room" "The packages were not built: $work/disk/place/build.log says why." "$(on_disk 16m)"
    building 'head -c 8000000 /dev/zero >object 2>/dev/null; rm object; echo "ld: output: No space left on device"'
    is "a linker that gives its room back" "$no_room" "$(on_disk 4m)"
    building 'echo "cc: /tmp/x.s: No space left on device"'
    is "another disk that is full" "cc: /tmp/x.s: No space left on device The packages were not built: $work/disk/place/build.log says why." \
        "$(lines=2 on_disk 300m | paste -sd ' ')"
    rm "$work/bin/dpkg-buildpackage"
fi

# Root compares builds of another user, who may read neither the clone nor its scripts.
if [ "$(id -u)" = 0 ]; then
    private=$work/private
    mkdir -p "$private/include/tokenkeep" "$private/build/packages"
    cp -r "$root/scripts" "$private"
    cp "$root/include/tokenkeep/version.h" "$private/include/tokenkeep"
    printf '#!/bin/sh\nmkdir -p "$1" && cp "$(dirname "$0")/../build/packages/"tokenkeep-*.tar.xz "$1/one.deb"\n' >"$private/scripts/deb.sh"
    # Swift makes a directory for what it writes: not where root alone may.
    printf '#!/bin/sh\nmktemp -d\n' >"$private/scripts/check-swift.sh"
    chmod 755 "$work"
    mkdir -m 755 "$work/room"
    for name in tokenkeep_1-1.changes tokenkeep-1.tar.xz one.deb; do echo same >"$private/build/packages/$name"; done
    chmod 700 "$private"
    is "make compare-builds of root, in a clone of root's own" "Both builds are the same: 1 packages" \
        "$(TMPDIR="$work/room" "$private/scripts/compare-builds.sh" 2>&1 | tail -n 1 | grep -o '^Both builds are the same: 1 packages')"
    printf '#!/bin/sh\n[ "$(id -u)" = 0 ]\n' >"$private/scripts/check-swift.sh"
    is "a Swift that root alone may run" "compare-builds: the user 65534 cannot run Swift, or not read $work/room: move it out of root's home." \
        "$(TMPDIR="$work/room" "$private/scripts/compare-builds.sh" 2>&1 | tail -n 1 | sed "s|room/[^:]*|room|")"
fi

# Installing.
is "make install without a build" "Nothing is built yet: make library PREFIX=/usr/local" \
    "$(make -C "$tree" --no-print-directory install 2>&1 | head -n 1)"
if [ -f "$root/build/cmake_install.cmake" ]; then
    (umask 077 && DESTDIR="$work/a place" cmake --install "$root/build" --prefix /usr/local) >"$work/log" 2>&1
    is "a DESTDIR with a space, under umask 077" "755 644" \
        "$(stat -c %a "$work/a place/usr/local/bin/tokenkeep" "$work/a place/usr/local/share/doc/tokenkeep/README.md" | paste -sd ' ')"
    mkdir "$work/shut"
    if [ "$(id -u)" = 0 ]; then
        # The program of another user, who may not write there.
        chmod 755 "$work/shut"
        is "a prefix that is not writable" "No permission to write in $work/shut: use sudo, or give PREFIX or DESTDIR another place." \
            "$(setpriv --reuid 65534 --clear-groups cmake --install "$root/build" --prefix "$work/shut" 2>&1 | grep -o 'No permission.*')"
    fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
