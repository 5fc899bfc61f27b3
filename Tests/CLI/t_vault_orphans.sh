# needs: root mount tpm
# The indices that a vault has in the TPM go with the vault, and those of a vault that was removed by hand can be freed.
. "$HERE/machines.sh"
start_tpm a
export TOKENKEEP_TCTI="swtpm:path=$WORK/tpm-a/tpm" TPM2TOOLS_TCTI="swtpm:path=$WORK/tpm-a/tpm"
indices() { tpm2_nvreadpublic | grep -ci 'authorization policy: 544b4e56'; }
bind() {
    "$program" password set --stdin <<<horse
    run device choose --stdin <<<horse
    printf five | run save example.com five --level when-passcode-set-this-device-only
}
hide() { sed -E 's/0x0180000[0-9a-f]/INDEX/g'; }

title "a deleted vault leaves nothing in the TPM"
bind
indices
run vault orphans
run lock
run vault delete --yes
indices

title "a vault that was removed by hand"
bind
cp -a "$TOKENKEEP_VAULT" kept
rm -r "$TOKENKEEP_VAULT"
run vault orphans | hide
run vault orphans --json | hide
run vault orphans --free 0x01ffffff
run vault orphans --free
on_terminal 'expect:[y/N] ' 'send:n\n' -- "$TOKENKEEP" vault orphans --free | hide
bind
indices
run vault orphans | hide
mv "$TOKENKEEP_VAULT" other
export TOKENKEEP_VAULT=$WORK/other
run vault orphans --free --yes
indices
TOKENKEEP_VAULT=$WORK/kept
forget
run unlock --stdin <<<horse
run load example.com five
forget

title "the TPM does not answer"
TOKENKEEP_VAULT=$WORK/other
kill "$swtpm"
wait "$swtpm" 2>/dev/null
run vault delete --yes
run vault orphans
[ -e "$TOKENKEEP_VAULT" ] || echo "the vault is gone"
start_tpm a
indices
run vault orphans --free --yes
indices
forget
