#!/bin/bash
# Runs the scenarios of this folder against a built program and compares what they print with their golden files.
#
# Usage: run.sh PATH_TO_TOKENKEEP [--update] [NAME...]
#
# A scenario is t_NAME.sh, its golden file t_NAME.out. Each runs in a private temporary directory with an environment and a
# clock of its own. A scenario that begins with "# needs: WORD…" is skipped if the machine or the program lacks one of these (lacks).
# "# slowness: NUMBER" in its second line: its clock is so many times slower than the real one, for limits that a loaded machine would miss.
# --update writes the golden files anew.
#
# TOKENKEEP_JOBS scenarios run at a time: most of their time they wait.
set -u

here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath -- "${1:?usage: run.sh PATH_TO_TOKENKEEP [--update] [NAME...]}") || exit 2
[ -x "$program" ] || { echo "run.sh: $program is not a program" >&2; exit 2; }
shift
update=false
if [ "${1-}" = --update ]; then
    update=true
    shift
fi

base=$(mktemp -d "${TMPDIR:-/tmp}/tokenkeep-cli.XXXXXX") || exit 2
trap 'chmod -R u+rwX "$base"; rm -rf "$base"; "$here/../Support/forget_keys.py" --quiet' EXIT
chmod 755 "$base"
"$here/../Support/forget_keys.py" --quiet # of a run that was killed

# Descriptors of make's job server would count where a scenario has few.
exec 3>&- 4>&- 5>&- 6>&-
jobs=${TOKENKEEP_JOBS:-3}
mkdir "$base/results"
skipped=0

# Parts of the output that differ from run to run: places, times, versions, who runs it.
mask() {
    sed -E \
        -e "s|$work|WORK|g; s|$program|TOKENKEEP|g; s|$here|HERE|g" \
        -e 's/\b[0-9a-f]{32}\b/RECORD/g' \
        -e 's/("(created|modified)_at" : )"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"/\1"TIME"/' \
        -e 's/(, since )[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z/\1TIME/' \
        -e 's/("version" : )"[0-9]+"/\1"VERSION"/' \
        -e 's/("version" : |tokenkeep )"?[0-9]+\.[0-9]+\.[0-9]+"?/\1RELEASE/' \
        -e 's|those that lie in /.*/tokenkeep/modules|those that lie in MODULES|' \
        -e "s/\\buser $(id -u)\\b/user UID/g; s/chown -R $(id -u)\\b/chown -R UID/g"
}

# Prints what a need of a scenario lacks.
lacks() {
    case $1 in
    root) [ "$(id -u)" = 0 ] || echo "it needs root" ;;
    mount) unshare -m mount -t tmpfs none /mnt 2>/dev/null || echo "it needs to mount" ;;
    # A program that is not installed has no providers, helpers or modules beside it.
    prefix) [ -d "${program%/bin/*}/share/tokenkeep" ] || echo "$program is not in an installation" ;;
    nacl) /usr/bin/python3 -c "import nacl.bindings" 2>/dev/null || echo "/usr/bin/python3 lacks PyNaCl (python3-nacl)" ;;
    strace) strace -o /dev/null true 2>/dev/null || echo "strace is not installed" ;;
    machine-faults) if (: <>/dev/fuse) 2>/dev/null; then installed bindfs faketime python3 setpriv; else echo "/dev/fuse cannot be opened"; fi ;;
    openssl) installed openssl faketime strace python3 ;;
    tpm) [ -n "$(lacks prefix)" ] && lacks prefix || installed swtpm tpm2_clear "${program%/bin/*}/libexec/tokenkeep/tokenkeep-tpm2" ;;
    pass) installed pass gpg ;;
    shells) installed zsh fish python3 ;;
    sshd) installed /usr/sbin/sshd ssh ssh-keygen python3 ;;
    keyring) installed gnome-keyring-daemon dbus-daemon gdbus secret-tool python3 ;;
    bus) installed dbus-daemon dbus-monitor busctl stdbuf ;;
    *) echo "run.sh does not know the need $1" ;;
    esac
}

installed() {
    local tool
    for tool; do command -v "$tool" >/dev/null || { echo "$tool is not installed"; return; }; done
}

scenario() {
    local name=$1 work="$base/$1" code start=${EPOCHREALTIME/[.,]/} tenths slowness
    slowness=$(sed -n '2s/^# slowness: //p' "$here/t_$name.sh")
    mkdir -p "$work/home" "$work/tmp"
    # The scenarios are about the program and the vault; what it is without configuration has one of its own.
    if [ "$name" != stack ]; then
        mkdir -p "$work/config/tokenkeep/stack.d"
        echo "any required vault" >"$work/config/tokenkeep/stack.d/default.conf"
    fi
    (
        cd "$work" || exit 125
        # Who starts the tests may ignore SIGPIPE: then the writers of closed pipes have something to say.
        env -i --default-signal=PIPE PATH="$PATH" HOME="$work/home" XDG_CONFIG_HOME="$work/config" TMPDIR="$work/tmp" TOKENKEEP_VAULT="$work/vault" TOKENKEEP_TPM2_SOCKET="$work/no-tpm" TOKENKEEP_SYSTEMD_SOCKET="$work/no-systemd" LC_ALL=C.UTF-8 TZ=UTC \
            ${TOKENKEEP_EVERY_MOMENT:+TOKENKEEP_EVERY_MOMENT=1} COLUMNS=80 TERM=dumb TOKENKEEP="$program" HERE="$here" WORK="$work" \
            ${slowness:+TOKENKEEP_SLOWNESS="$slowness"} \
            ${TOKENKEEP_TEST_CLOCK:+TOKENKEEP_TEST_CLOCK="$TOKENKEEP_TEST_CLOCK" LD_PRELOAD="$LD_PRELOAD"} \
            timeout 3600 "$here/../Support/Clock/run.sh" bash -u -c '. "$HERE/lib.sh"; . "$HERE/$0"' "t_$name.sh"
    ) >"$work.raw" 2>&1 </dev/null
    code=$?
    [ $code = 0 ] || echo "the scenario itself ended with $code" >>"$work.raw"
    mask <"$work.raw" >"$work.got"
    if $update && [ $code = 0 ]; then cp "$work.got" "$here/t_$name.out"; fi
    if [ $code = 0 ] && diff -u --label "t_$name.out" --label got "$here/t_$name.out" "$work.got" >"$work.diff" 2>&1; then
        tenths=$(((${EPOCHREALTIME/[.,]/} - start) / 100000))
        echo "ok   $name ($((tenths / 10)).$((tenths % 10)) s)" >"$base/results/$name"
    else
        {
            echo "FAIL $name"
            sed 's/^/     /' "$work.diff" 2>/dev/null || tail -5 "$work.got"
        } >"$base/results/$name"
    fi
    cat "$base/results/$name"
}

names=("$@")
if [ ${#names[@]} = 0 ]; then
    for file in "$here"/t_*.sh; do
        name=${file##*/t_}
        names+=("${name%.sh}")
    done
fi
for name in "${names[@]}"; do
    reason=""
    for need in $(sed -n '1s/^# needs: //p' "$here/t_$name.sh"); do reason=${reason:-$(lacks "$need")}; done
    if [ -n "$reason" ]; then
        skipped=$((skipped + 1))
        echo "skipped $name: $reason"
    else
        scenario "$name" &
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    fi
done
wait
count() { cat "$base"/results/* 2>/dev/null | grep -c "^$1 "; }
passed=$(count ok) failed=$(count FAIL)
[ $skipped = 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
