#!/bin/sh
# scripts/release.sh signs what a release has built, and that alone: a file that lies beside it, a package that was changed after
# its build and a part that is missing are named.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cd "$work" || exit 1
mkdir -p scripts include/tokenkeep build/packages
cp "$root/scripts/release.sh" scripts
echo '#define TOKENKEEP_VERSION "0.1.0"' >include/tokenkeep/version.h
ssh-keygen -q -t ed25519 -N "" -C "" -f key
export TOKENKEEP_SSH_KEY="$work/key"

is() { # NAME EXPECTED FOUND
    [ "$2" = "$3" ] || { echo "FAIL release.sh: $1: expected '$2', found '$3'"; failed=1; }
}
sums() { # FILES, as dpkg-buildpackage and dpkg-source write them
    printf 'Checksums-Sha1:\n 0 0 another.deb\nChecksums-Sha256:\n'
    for file in "$@"; do echo " $(sha256sum "$file" | cut -d' ' -f1) $(stat -c %s "$file") $file"; done
    printf 'Files:\n 0 0 libs optional another.deb\n'
}
built() { # [REVISION]: writes what make dist, deb and sbom write
    build=tokenkeep_0.1.0-${1:-1}
    cd "$work/build/packages" || exit 1
    rm -rf ./*
    echo source >tokenkeep-0.1.0.tar.xz
    cp tokenkeep-0.1.0.tar.xz tokenkeep_0.1.0.orig.tar.xz
    echo package >"${build}_amd64.deb"
    echo bom >tokenkeep.cdx.json
    sums tokenkeep_0.1.0.orig.tar.xz >"$build.dsc"
    # The list of a later revision leaves the tarball out.
    if [ "${1:-1}" = 1 ]; then orig=tokenkeep_0.1.0.orig.tar.xz; else orig=; fi
    sums "$build.dsc" "${build}_amd64.deb" $orig >"${build}_amd64.changes"
    cd "$work" || exit 1
}
signed() { sed 's/.*  //' build/packages/SHA256SUMS | paste -sd ' '; }
lists() { ls -A build/packages | grep -E '^SHA256SUMS|^\.'; }
release() { scripts/release.sh 2>&1 | tail -n 1; }

built
echo stray >build/packages/tokenkeep_0.0.9-1_amd64.deb
is "a file of another release" "not of this release, and not signed: tokenkeep_0.0.9-1_amd64.deb" "$(scripts/release.sh 2>&1 >/dev/null | tail -n 1)"
is "what is signed" "tokenkeep-0.1.0.cdx.json tokenkeep-0.1.0.tar.xz tokenkeep_0.1.0-1.dsc tokenkeep_0.1.0-1_amd64.changes \
tokenkeep_0.1.0-1_amd64.deb tokenkeep_0.1.0.orig.tar.xz" "$(signed)"
is "the sums" "" "$(cd build/packages && sha256sum --quiet -c SHA256SUMS 2>&1)"
echo "releaser $(cat key.pub)" >signers
is "the signature" "Good" "$(ssh-keygen -Y verify -f signers -I releaser -n tokenkeep-release -s build/packages/SHA256SUMS.sig \
    <build/packages/SHA256SUMS 2>&1 | cut -d' ' -f1)"
echo changed >build/packages/tokenkeep_0.1.0-1_amd64.deb
is "a package that was changed" "build/packages has other files than tokenkeep_0.1.0-1_amd64.changes lists: make deb." "$(release)"
is "no list is left" "" "$(lists)"
rm build/packages/*.dsc
is "no source package" "build/packages has no source package tokenkeep_0.1.0-1.dsc: make deb." "$(release)"
built 2
release >/dev/null
is "what is signed of a second revision" "tokenkeep-0.1.0.cdx.json tokenkeep-0.1.0.tar.xz tokenkeep_0.1.0-2.dsc tokenkeep_0.1.0-2_amd64.changes \
tokenkeep_0.1.0-2_amd64.deb tokenkeep_0.1.0.orig.tar.xz" "$(signed)"
built
echo other >build/packages/tokenkeep-0.1.0.tar.xz
is "another tarball" "the packages were built from another tarball than tokenkeep-0.1.0.tar.xz: make deb." "$(release)"
built
rm build/packages/*.cdx.json
is "no SBOM" "build/packages lacks parts of the release: make release." "$(release)"
rm build/packages/*.changes
is "no packages" "build/packages has no packages of 0.1.0: make deb." "$(release)"
built
cp build/packages/tokenkeep_0.1.0-1_amd64.changes build/packages/tokenkeep_0.1.0-2_amd64.changes
is "two builds" "build/packages has several lists of packages: tokenkeep_0.1.0-1_amd64.changes tokenkeep_0.1.0-2_amd64.changes." "$(release)"
built
is "no key" "SHA256SUMS is not signed: set TOKENKEEP_SSH_KEY to a key of yours, or make one with gpg." \
    "$(GNUPGHOME=$work TOKENKEEP_SSH_KEY='' scripts/release.sh 2>&1 | tail -n 1)"
is "no list without a signature" "" "$(lists)"
built
TOKENKEEP_SSH_KEY="$work/none" scripts/release.sh >/dev/null 2>&1 && is "a key that is not there" "an error" "none"
is "no list if the signing failed" "" "$(lists)"
[ $failed -ne 0 ] || echo "release.sh: 14 cases, 0 faults"
exit $failed
