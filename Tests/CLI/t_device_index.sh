# needs: root mount tpm strace
# slowness: 20
# The level that ends with the password: its secret lies in the TPM's memory. Each copy begins with a kernel that has no key.
. "$HERE/machines.sh"
export TOKENKEEP_TCTI TPM2TOOLS_TCTI
# A persistent storage root key: with an owner password a TPM seals under no other.
make_srk() {
    tpm2_createprimary -Q -C o -G ecc -a "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt" -c srk.ctx
    tpm2_evictcontrol -Q -C o -c srk.ctx 0x81000001
    tpm2_flushcontext -t
}
# A machine with a TPM of its own and a vault of its own.
machine() {
    title "$2"
    [ -e "$WORK/tpm-$1" ] || start_tpm "$1"
    TOKENKEEP_TCTI="swtpm:path=$WORK/tpm-$1/tpm"
    TPM2TOOLS_TCTI=$TOKENKEEP_TCTI
    TOKENKEEP_VAULT=$WORK/vault-$1
}
bind() {
    "$program" password set --stdin <<<horse
    run device choose --stdin <<<horse
    printf two | "$program" save example.com two
    printf four | "$program" save example.com four --level after-first-unlock-$this
    printf five | run save example.com five --level when-passcode-set-$this
}
levels() { for name in two four five; do run load example.com $name; done; }
disk_theft() { "$program" protection | sed -n "/^when-passcode-set-$this:/,/^$/p" | grep -A1 disk-theft; }
# The secrets that lie in indices of TokenKeep.
indices() { tpm2_nvreadpublic | grep -ci 'authorization policy: 544b4e5601'; }

machine a "the secret of the level that ends with the password lies in an index"
bind
disk_theft
indices
printf 'horse\nnew\n' | run password change --stdin
indices
printf 'new\nhorse\n' | run password change --stdin --compromised
indices
levels
cp -a "$TOKENKEEP_VAULT" old
run password remove --stdin <<<horse
run password remove --stdin --destroy-items <<<horse
indices
levels

# The vault's anchor refuses an older header whole. Here the level alone stands against it.
drop_anchor() {
    for index in $(tpm2_nvreadpublic | grep -B9 -i 'authorization policy: 544b4e5602' | grep -o '^0x[0-9a-fA-F]*'); do
        tpm2_nvundefine -Q -C o "$index" "$@"
    done
}

machine a "an older copy with the old password, on the same machine"
put_back old
drop_anchor
run unlock --stdin <<<horse
levels
printf 'horse\nnew\n' | run password change --stdin
run device re-bind --stdin <<<horse
run device re-bind --stdin --destroy-items <<<horse
levels
printf again | run save example.com five --level when-passcode-set-$this
run load example.com five
indices

machine b "the removal is killed between index and header"
bind
printf '#!/bin/bash\nexec strace -f -qq -o /dev/null -e trace=renameat -e inject=renameat:error=EIO:signal=KILL -P current.tmp %q "$@" 2>/dev/null\n' "$program" >"$WORK/tmp/killed"
chmod 755 "$WORK/tmp/killed"
{ "$WORK/tmp/killed" password remove --stdin --destroy-items <<<horse; } 2>/dev/null
echo "killed: $?"
indices
forget
run status
run unlock --stdin <<<horse
levels
indices
printf again | run save example.com five --level when-passcode-set-$this
run load example.com five
run password remove --stdin --destroy-items <<<horse
indices

machine c "a TPM with an owner password makes no index"
make_srk
tpm2_changeauth -c owner secret
bind
disk_theft
run save example.com sure --level when-passcode-set-$this --require-enforced <<<sure
cp -a "$TOKENKEEP_VAULT" sealed
run password remove --stdin --destroy-items <<<horse
put_back sealed
drop_anchor -P secret
run unlock --stdin <<<horse
levels
tpm2_changeauth -c owner -p secret
printf 'horse\nnew\n' | run password change --stdin
disk_theft
indices
tpm2_changeauth -c owner secret
printf 'new\nnewer\n' | run password change --stdin
indices
run unlock --stdin <<<newer
disk_theft
run password remove --stdin --destroy-items <<<newer
run status
tpm2_changeauth -c owner -p secret
run password remove --stdin --destroy-items <<<newer
indices

machine d "a TPM without room makes no index"
for number in 0 1 2 3; do tpm2_nvdefine -Q "0x180000$number" -s 8 -a "authread|authwrite|no_da"; done
bind
disk_theft
levels
for number in 0 1 2 3; do tpm2_nvundefine -Q -C o "0x180000$number"; done
printf 'horse\nnew\n' | run password change --stdin
disk_theft
indices

machine d "the vault moves to a machine key"
on_machine own
run device make-machine-key
run device re-bind machine-key --stdin <<<new
indices
TOKENKEEP=$program

machine e "the vault moves away from a TPM that has an owner password"
make_srk
bind
tpm2_changeauth -c owner secret
on_machine own
run device re-bind machine-key --stdin <<<horse
TOKENKEEP=$program
indices
for name in a b c d e; do
    TOKENKEEP_VAULT=$WORK/vault-$name
    forget
done
