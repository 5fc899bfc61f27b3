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
built() { # writes what make dist, deb and sbom write
    cd "$work/build/packages" || exit 1
    rm -rf ./*
    echo source >tokenkeep-0.1.0.tar.xz
    cp tokenkeep-0.1.0.tar.xz tokenkeep_0.1.0.orig.tar.xz
    echo package >tokenkeep_0.1.0-1_amd64.deb
    echo bom >tokenkeep.cdx.json
    {
        printf 'Checksums-Sha1:\n 0 0 another.deb\nChecksums-Sha256:\n'
        for file in tokenkeep_*; do echo " $(sha256sum "$file" | cut -d' ' -f1) $(stat -c %s "$file") $file"; done
        printf 'Files:\n 0 0 libs optional another.deb\n'
    } >"$work/changes"
    mv "$work/changes" tokenkeep_0.1.0-1_amd64.changes
    cd "$work" || exit 1
}
release() { scripts/release.sh 2>&1 | tail -n 1; }

built
echo stray >build/packages/tokenkeep_0.0.9-1_amd64.deb
is "a file of another release" "not of this release, and not signed: tokenkeep_0.0.9-1_amd64.deb" "$(scripts/release.sh 2>&1 >/dev/null | tail -n 1)"
is "what is signed" "tokenkeep-0.1.0.cdx.json tokenkeep-0.1.0.tar.xz tokenkeep_0.1.0-1_amd64.changes tokenkeep_0.1.0-1_amd64.deb \
tokenkeep_0.1.0.orig.tar.xz" "$(sed 's/.*  //' build/packages/SHA256SUMS | paste -sd ' ')"
is "the sums" "" "$(cd build/packages && sha256sum --quiet -c SHA256SUMS 2>&1)"
echo "releaser $(cat key.pub)" >signers
is "the signature" "Good" "$(ssh-keygen -Y verify -f signers -I releaser -n tokenkeep-release -s build/packages/SHA256SUMS.sig \
    <build/packages/SHA256SUMS 2>&1 | cut -d' ' -f1)"
echo changed >build/packages/tokenkeep_0.1.0-1_amd64.deb
is "a package that was changed" "build/packages has other files than tokenkeep_0.1.0-1_amd64.changes lists: make deb." "$(release)"
is "no list is left" "" "$(ls build/packages | grep SHA256SUMS)"
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
[ $failed -ne 0 ] || echo "release.sh: 10 cases, 0 faults"
exit $failed
