#!/bin/sh
# Writes build/packages/tokenkeep-VERSION.tar.xz: the last commit, and in `vendor` the pinned sources of the Swift packages that
# the programs link, with their licences. It builds without a network. Two runs on one commit write the same bytes.
#
# Usage: dist.sh
set -eu
cd "$(dirname "$0")/.."
umask 022
export TZ=UTC LC_ALL=C

fail() {
    echo "$1" >&2
    exit 1
}
git rev-parse --verify -q HEAD >/dev/null 2>&1 || fail "make dist needs a clone: git has no commit here."
version=$(sed -n 's/.*define TOKENKEEP_VERSION  *"\(.*\)".*/\1/p' include/tokenkeep/version.h)
name=tokenkeep-$version
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
mkdir -p build/packages
work=$(mktemp -d build/packages/dist.XXXXXX)
trap 'rm -rf "$work"' EXIT
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "make dist: changes that are not committed stay out of the tarball." >&2

git archive --prefix="$name/" HEAD | tar -x -C "$work"

# The commit of a package, from a build of ours or from its address.
put() { # NAME COMMIT ADDRESS
    mkdir -p "$work/$name/vendor/$1"
    for clone in .build*/checkouts/"$1" .build*/repositories/"$1"-*; do
        git -C "$clone" cat-file -e "$2" 2>/dev/null || continue
        git -C "$clone" archive "$2" | tar -x -C "$work/$name/vendor/$1"
        return
    done
    git clone -q --bare "$3" "$work/$1.git" || fail "$3 cannot be fetched: run make dist with a network, or make library before."
    git -C "$work/$1.git" archive "$2" | tar -x -C "$work/$name/vendor/$1"
}
sed '/^#/d' packaging/swift-packages.txt >"$work/pins"
while read -r package _ commit address; do
    put "$package" "$commit" "$address"
    # What its authors' machines read alone.
    find "$work/$name/vendor/$package" -mindepth 1 -maxdepth 1 -name '.*' -exec rm -rf {} +
    [ -s "$work/$name/vendor/$package/LICENSE.txt" ] || fail "vendor/$package has no licence."
done <"$work/pins"

tar -C "$work" --format=posix --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --sort=name \
    --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -cf "$work/$name.tar" "$name"
xz -T1 -9 "$work/$name.tar"
mv "$work/$name.tar.xz" "build/packages/$name.tar.xz"
echo "build/packages/$name.tar.xz"
