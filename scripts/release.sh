#!/bin/sh
# Writes SHA256SUMS about a release in build/packages, and its signature. The key is the releaser's. What is signed is the tarball,
# the Debian packages as dpkg-buildpackage's list has them, and the SBOM; whatever else lies there is named and left out.
#
# Usage: release.sh      (environment: TOKENKEEP_SSH_KEY, a key for ssh-keygen -Y sign; else gpg's default key, or GPG_KEY)
set -eu
cd "$(dirname "$0")/../build/packages"
version=$(sed -n 's/.*define TOKENKEEP_VERSION  *"\(.*\)".*/\1/p' ../../include/tokenkeep/version.h)
export LC_ALL=C

fail() {
    echo "$1" >&2
    exit 1
}
rm -f SHA256SUMS SHA256SUMS.asc SHA256SUMS.sig
# A list without a signature would look like a release.
trap 'rm -f .listed .names .sums SHA256SUMS SHA256SUMS.asc SHA256SUMS.sig' EXIT
trap 'exit 1' HUP INT TERM
[ ! -e tokenkeep.cdx.json ] || mv tokenkeep.cdx.json "tokenkeep-$version.cdx.json"
changes=$(ls "tokenkeep_$version"-*.changes 2>/dev/null) || fail "build/packages has no packages of $version: make deb."
[ "$(echo "$changes" | wc -l)" = 1 ] || fail "build/packages has several lists of packages: $(echo "$changes" | paste -sd ' ')."

# The files of dpkg-buildpackage, each with the sum that it wrote. From Debian's second revision on, the source package alone
# lists the tarball.
sed -n '/^Checksums-Sha256:/,/^[^ ]/s/^ \([0-9a-f]\{64\}\) [0-9]* \(.*\)/\1  \2/p' "$changes" "${changes%_*}.dsc" >.listed ||
    fail "build/packages has no source package ${changes%_*}.dsc: make deb."
sha256sum --check --quiet --strict .listed >/dev/null 2>&1 || fail "build/packages has other files than $changes lists: make deb."
cmp -s "tokenkeep-$version.tar.xz" "tokenkeep_$version.orig.tar.xz" ||
    fail "the packages were built from another tarball than tokenkeep-$version.tar.xz: make deb."
{
    sed 's/^[^ ]*  //' .listed
    printf '%s\n' "$changes" "tokenkeep-$version.tar.xz" "tokenkeep-$version.cdx.json"
} | sort -u >.names
for file in *; do
    [ ! -f "$file" ] || grep -qxF "$file" .names || echo "not of this release, and not signed: $file" >&2
done
tr '\n' '\0' <.names | xargs -0 sha256sum >.sums || fail "build/packages lacks parts of the release: make release."
mv .sums SHA256SUMS

if [ -n "${TOKENKEEP_SSH_KEY:-}" ]; then
    ssh-keygen -q -Y sign -f "$TOKENKEEP_SSH_KEY" -n tokenkeep-release SHA256SUMS
elif command -v gpg >/dev/null && gpg --list-secret-keys ${GPG_KEY:+"$GPG_KEY"} 2>/dev/null | grep -q .; then
    gpg --batch --yes ${GPG_KEY:+--local-user "$GPG_KEY"} --armor --detach-sign SHA256SUMS
else
    fail "SHA256SUMS is not signed: set TOKENKEEP_SSH_KEY to a key of yours, or make one with gpg."
fi
trap - EXIT
rm -f .listed .names
ls SHA256SUMS*
