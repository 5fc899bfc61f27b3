# Shared by the scenarios of devices: software TPMs, restarts, machines with a machine key, and programs in other hands.
program=$TOKENKEEP
tools=()
trap 'kill -CONT "${tools[@]}" 2>/dev/null; kill "${tools[@]}" 2>/dev/null' EXIT
until_exists() { timeout "$PATIENCE" bash -c 'until [ -e "$1" ]; do sleep 0.01; done' - "$1"; }

# Takes the vault's keys out of the kernel, as a start of the machine does.
forget() { [ ! -e "$TOKENKEEP_VAULT" ] || python3 "$HERE/keys.py" forget "$TOKENKEEP_VAULT" >/dev/null; }

# A copy of the whole vault, in the place of the present one, after a restart of the machine.
put_back() {
    forget
    place_vault "$1"
}

# start_tpm NAME: a software TPM, whose state lies in tpm-NAME. Its process is $swtpm afterwards.
start_tpm() {
    mkdir -p "$WORK/tpm-$1"
    rm -f "$WORK/tpm-$1/tpm" "$WORK/tpm-$1/tpm.ctrl"
    swtpm socket --tpm2 --tpmstate "dir=$WORK/tpm-$1" --server "type=unixio,path=$WORK/tpm-$1/tpm" \
        --ctrl "type=unixio,path=$WORK/tpm-$1/tpm.ctrl" --flags not-need-init,startup-clear >"$WORK/tpm-$1/log" 2>&1 &
    swtpm=$!
    tools+=("$swtpm")
    until_exists "$WORK/tpm-$1/tpm.ctrl"
}

# on_machine NAME: from then on the program runs as root of a machine whose /var/lib is machine-NAME.
on_machine() {
    mkdir -p "$WORK/machine-$1"
    printf '#!/bin/bash\nmount --bind %q /var/lib && exec %q "$@"\n' "$WORK/machine-$1" "$program" >"$WORK/tmp/in-$1"
    printf '#!/bin/bash\nexec unshare -m %q "$@"\n' "$WORK/tmp/in-$1" >"$WORK/tmp/on-$1"
    chmod 755 "$WORK/tmp/in-$1" "$WORK/tmp/on-$1"
    TOKENKEEP="$WORK/tmp/on-$1"
}

# What the program does as another user, with a copy of the vault.
another_user() {
    title "another user with a copy of the vault, and its password"
    mkdir -m 755 "$WORK/stranger"
    cp -a "$program" "$WORK/stranger/tokenkeep"
    cp -a vault "$WORK/stranger/vault"
    chown -R 4242 "$WORK/stranger"
    chmod 755 "$WORK"
    printf '#!/bin/bash\nexec setpriv --reuid 4242 --regid 4242 --clear-groups env TOKENKEEP_VAULT=%q/stranger/vault HOME=%q/stranger %q/stranger/tokenkeep "$@"\n' \
        "$WORK" "$WORK" "$WORK" >"$WORK/tmp/stranger"
    chmod 755 "$WORK/tmp/stranger"
    TOKENKEEP="$WORK/tmp/stranger"
    run unlock --stdin <<<horse
    run load example.com two
    run load example.com four
    run device show
    run lock
    TOKENKEEP=$program
}

this=this-device-only
levels() { for name in one two three four five; do run load example.com $name; done; }
other_machine() { "$TOKENKEEP" protection | grep other-machine; }

# bind_vault PROVIDER: a vault with an item of each level, bound to the device, locked and unlocked.
bind_vault() {
    run device show
    run password set --stdin <<<horse
    run device choose --stdin <<<horse
    printf one | run save example.com one --level when-unlocked
    printf two | run save example.com two
    printf three | run save example.com three --level when-unlocked-$this
    printf four | run save example.com four --level after-first-unlock-$this --require-enforced
    printf five | run save example.com five --level when-passcode-set-$this
    other_machine
    run device show
    run device show --json
    run status
    run lock
    run load example.com four
    run unlock --stdin <<<horse
    levels
    run device choose "$1" --stdin <<<horse
}

# The password "horse" becomes "newer" in two steps. $code is a recovery code afterwards.
change_passwords() {
    printf 'horse\nnew\n' | run password change --stdin
    code=$("$TOKENKEEP" recovery create --stdin <<<new)
    printf 'new\nnewer\n' | run password change --stdin --compromised
    run load example.com five
    code=$("$TOKENKEEP" recovery create --stdin <<<newer)
}

# A copy of the vault on machine b, whose user knows the password "newer": what opens, and what he can do there.
copy_elsewhere() {
    cp -a vault copy
    TOKENKEEP_VAULT=$WORK/copy
    machine b "a copy on another machine, with the password"
    run unlock --stdin <<<newer
    levels
    run device show
    run status
    printf new | run save example.com new --level after-first-unlock-this-device-only
    printf 'newer\nother\n' | run password change --stdin
    run device re-bind --stdin <<<newer
    run device re-bind --destroy-items --stdin <<<newer
    run list
    run lock
    TOKENKEEP_VAULT=$WORK/vault
}
