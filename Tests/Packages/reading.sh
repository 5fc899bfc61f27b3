# What tools read in the packages that files.sh has unpacked: manual pages, units, prose, the build's log, debug symbols. Read by run.sh.

is "man has no warning about a page" "" "$(find "$files" -path '*/share/man/*' -name '*.gz' | sort | while read -r page; do
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | head -n 1
done)"
is "each program has a manual page" "" "$(for program in "$files"/*/usr/bin/*; do
    page=$(basename "$program").1.gz
    [ -e "$files/tokenkeep/usr/share/man/man1/$page" ] || echo "$page"
done)"
# te: a request of TeX's in a page's source.
is "codespell knows all words that users read" "" "$({
    find "$files" -path '*/share/man/*' -name '*.gz' | while read -r page; do
        gzip -dc "$page" >"$work/page" && codespell -q 3 -L te "$work/page" | sed "s|.*:|$(basename "$page"):|"
    done
    codespell -q 3 $(find "$files" -name '*.md')
} 2>&1 | head -n 5)"
is "codespell finds a wrong word" 1 "$(echo 'recieve' >"$work/page" && codespell -q 3 "$work/page" 2>/dev/null | grep -c recieve)"

# The units' programs lie where the packages are installed, not here.
mkdir -p -m 700 "$work/run"
verified() { # --user|--system UNIT
    XDG_RUNTIME_DIR=$work/run systemd-analyze verify "$1" --man=no "$2" 2>&1 | grep -v 'is not executable: No such file'
}
units=0
for unit in "$files"/*/usr/lib/systemd/user/*.*; do
    units=$((units + 1))
    is "systemd-analyze verifies $(basename "$unit")" "" "$(verified --user "$unit")"
done
[ "$units" -ge 9 ] || fail "the packages have $units units of users, not 9"
is "systemd-analyze verifies tokenkeep-tpm2.socket" "" "$(verified --system "$files/tokenkeep/usr/lib/systemd/system/tokenkeep-tpm2.socket")"
is "root's helper is confined: an exposure below 2" OK "$(systemd-analyze security --offline=true --threshold=20 --no-pager \
    "$files/tokenkeep/usr/lib/systemd/system/tokenkeep-tpm2@.service" 2>&1 | tail -n 1 | grep -ow OK)"

# The log of make deb, if the packages were built here. swift build shows no flags: its files are looked at in files.sh.
log=$packages/work/build.log
[ ! -e "$log" ] || is "blhc misses no flag of hardening in the build's log" "" \
    "$(blhc --all --ignore-line '\[[0-9]+/[0-9]+\] .*' "$log" 2>&1 | head -n 5)"

# A debugger that has the packages of debug symbols names Swift's frames and their lines.
for package in "$packages"/tokenkeep-dbgsym_*.deb; do dpkg-deb -x "$package" "$work/symbols"; done
frames=$(HOME=$work TOKENKEEP_VAULT=$work/vault timeout 300 gdb -nx -batch -iex "set debug-file-directory $work/symbols/usr/lib/debug" \
    -ex 'break write' -ex 'run list --stack "any required vault"' -ex bt "$program" 2>&1)
is "gdb names Swift's frames with their lines" yes "$(echo "$frames" | grep -q 'ListCommand.* at .*/ListCommand\.swift:[0-9]' && echo yes)"
