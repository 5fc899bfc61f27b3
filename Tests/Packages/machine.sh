# A clean machine: what apt, debian/tests and dpkg do there. Read by run.sh.
base=$cache/bookworm
machine=$work/machine given=$work/for-the-machine
mkdir -p "$cache"
if [ ! -d "$base" ]; then
    address=$(PYTHONPATH="$root/Tests/Providers" python3 -c 'import roots; print(roots.mirror())')
    # Everything that the tests' packages depend on lies in apt's cache: the machine itself has no network.
    mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "false"' \
        --include=ca-certificates bookworm "$base.unfinished" "deb $address bookworm main" ||
        { fail "mmdebstrap made no clean machine"; return; }
    mv "$base.unfinished" "$base"
fi
# Other packages that ours and their tests need: fetched once, with the network that the test has.
needed=$(sed -n 's/^Depends: //p' "$root/debian/tests/control" | tr -d ' ' | tr ',' '\n' | grep -v tokenkeep | sort -u)
needed="$needed libsodium23 libargon2-1 libjansson4 libcurl4 libsecret-1-0 libgcrypt20 libsystemd0 libpam-runtime libpam0g libtss2-esys-3.0.2-0
    libtss2-mu0 libtss2-tctildr0 python3 libglib2.0-0 gnome-keyring"
wanted=$(echo "$needed" | md5sum | cut -c1-12)
if [ ! -e "$base/var/cache/tokenkeep-$wanted" ]; then
    cp /etc/resolv.conf "$base/etc/resolv.conf"
    # shellcheck disable=SC2086
    chroot "$base" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --download-only --no-install-recommends "$@"' \
        sh $needed default-dbus-session-bus dbus-user-session >"$work/log" 2>&1 || { tail -n 3 "$work/log"; fail "the packages of the tests were not fetched"; return; }
    : >"$base/var/cache/tokenkeep-$wanted"
fi

# The local repository; a second one has the same packages under a later version, as an upgrade has.
repository() { # DIRECTORY
    (cd "$1" && dpkg-scanpackages --multiversion . 2>/dev/null >Packages)
}
mkdir -p "$machine" "$given/packages/now" "$given/packages/later" "$given/tests"
cp "$packages"/*_*.deb "$given/packages/now"
rm -f "$given"/packages/now/*-dbgsym_*
for package in "$given"/packages/now/*.deb; do
    rm -rf "$work/later"
    dpkg-deb -R "$package" "$work/later"
    sed -i -E 's/^Version: (.*)/Version: \1+later/; s/\(= ([^)]*)\)/(= \1+later)/g' "$work/later/DEBIAN/control"
    # The later module has an argument in its lines.
    [ ! -d "$work/later/usr/share/pam-configs" ] || sed -i 's/pam_tokenkeep.so/& later/' "$work/later/usr/share/pam-configs/tokenkeep"
    dpkg-deb --root-owner-group -Znone -b "$work/later" "$given/packages/later" >/dev/null
done
repository "$given/packages/now"
repository "$given/packages/later"
cp "$root"/debian/tests/* "$here/inside.sh" "$here/container.sh" "$root/packaging/Containerfile" "$given/tests"

# A mount and a process namespace of its own, and no network: apt has what is in its cache and in the repository. What the machine
# writes lies in memory, over the base.
unshare --mount --pid --net --ipc --fork sh -c '
    mount -t tmpfs changes "$1" && mkdir "$1/upper" "$1/work" "$1/root" &&
    mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root" && cd "$1/root" && mkdir -p packages tests &&
    mount --bind "$3/packages" packages && mount --bind "$3/tests" tests &&
    mount -t proc proc proc && mount -t tmpfs tmp tmp && mount --rbind /dev dev && mount --make-rslave dev &&
    echo force-unsafe-io >etc/dpkg/dpkg.cfg.d/quick &&
    exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive timeout 900 sh /tests/inside.sh' \
    sh "$machine" "$base" "$given" >"$work/inside" 2>&1
code=$?
cat "$work/inside"
passed=$((passed + $(grep -c '^ok ' "$work/inside")))
failed=$((failed + $(grep -c '^FAIL' "$work/inside")))
[ $code -eq 0 ] || fail "the clean machine ended with $code"
