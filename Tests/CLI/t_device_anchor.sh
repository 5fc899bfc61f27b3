# needs: root tpm strace
# slowness: 20
# The TPM knows which header is in force. Each restart is a kernel that has no key of the vault.
. "$HERE/machines.sh"
export TOKENKEEP_TCTI TPM2TOOLS_TCTI
levels() { for name in two four five; do run load example.com $name; done; }
disk_theft() { "$program" protection | sed -n "/^after-first-unlock-$this:/,/^$/p" | grep disk-theft; }
anchor() { tpm2_nvreadpublic | grep -B9 -i 'authorization policy: 544b4e5602' | grep -o '^0x[0-9a-fA-F]*'; }

start_tpm a
TOKENKEEP_TCTI="swtpm:path=$WORK/tpm-a/tpm"
TPM2TOOLS_TCTI=$TOKENKEEP_TCTI
"$program" password set --stdin <<<horse
run device choose --stdin <<<horse
printf two | "$program" save example.com two
printf four | "$program" save example.com four --level after-first-unlock-$this
printf five | "$program" save example.com five --level when-passcode-set-$this
anchor
disk_theft

title "an older copy, put back after a change of the password"
cp -a vault old
printf 'horse\nnew\n' | run password change --stdin
cp -a vault new
put_back old
run unlock --stdin <<<horse
run load example.com two
run load example.com four
printf 'horse\nother\n' | run password change --stdin
printf 'horse\nother\n' | run password change --stdin --compromised
run password remove --stdin --destroy-items <<<horse
diff -r vault old && echo "nothing was changed"
put_back new
run unlock --stdin <<<new
levels

title "after the removal of the password"
run password remove --stdin --destroy-items <<<new
cp -a vault removed
put_back new
run unlock --stdin <<<new
put_back removed
run load example.com four
"$program" password set --stdin <<<newer
run load example.com four
cp -a vault newer

title "a copy that the user put back himself"
put_back new
run unlock --stdin --accept-older-header <<<new
levels
run lock
run unlock --stdin <<<new
put_back newer
run unlock --stdin <<<newer
run unlock --stdin --accept-older-header <<<newer

title "a change that is killed between its two headers, and behind them"
printf five | "$program" save example.com five --level when-passcode-set-$this
cp -a vault before
for path in header header.2; do
    printf '#!/bin/bash\nexec strace -f -qq -o /dev/null -e trace=renameat -e inject=renameat:error=EIO:signal=KILL -P %q %q "$@" 2>/dev/null\n' "$path.tmp" "$program" >"$WORK/tmp/killed"
    chmod 755 "$WORK/tmp/killed"
    { printf 'newer\nnewest\n' | "$WORK/tmp/killed" password change --stdin; } 2>/dev/null
    echo "killed: $?"
    forget
    run unlock --stdin <<<newer
    run load example.com four
done
printf 'newer\nnewest\n' | run password change --stdin
cp -a vault newest
put_back before
run unlock --stdin <<<newer
put_back newest

title "the TPM is silent, and has no index for the anchor"
printf 'newest\nlast\n' | run password change --stdin
cp -a vault last
put_back before
stop_process "$swtpm"
run unlock --stdin <<<newer
run load example.com two
disk_theft
kill -CONT "$swtpm"
forget
run unlock --stdin <<<newer
tpm2_nvundefine -Q -C o "$(anchor)"
run unlock --stdin <<<newer
run load example.com two
disk_theft
put_back last
run unlock --stdin <<<last
printf 'last\nanchored\n' | run password change --stdin
anchor
disk_theft
put_back last
run unlock --stdin <<<last

title "the TPM is cleared"
tpm2_clear
run unlock --stdin <<<last
run load example.com two
run device re-bind --destroy-items --stdin <<<last
anchor
run lock
run unlock --stdin <<<last
forget
