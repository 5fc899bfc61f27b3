# needs: root mount
# Each machine has a /var/lib of its own, and begins with a kernel that has no key of the vault.
. "$HERE/machines.sh"
machine() {
    title "$2"
    forget
    on_machine "$1"
}
strengths() { "$TOKENKEEP" protection | sed -n '1,/^$/p'; }

machine a "a vault that is bound to no device"
run save example.com four --level after-first-unlock-$this <<<four
run device show
run device re-bind
run device choose
run device choose abacus
run status

machine a "a machine key, without a password"
run device make-machine-key
stat -c '%a %u %s' "$WORK/machine-a/tokenkeep/machine-key"
run device make-machine-key
run device choose
run device choose machine-key
printf four | run save example.com four --level after-first-unlock-$this
printf three | run save example.com three --level when-unlocked-$this
printf five | run save example.com five --level when-passcode-set-$this
run load example.com four
run load example.com three
printf kept | run save example.com enforced --require-enforced --level after-first-unlock-$this
strengths
run device show
run status

setpriv --reuid 65534 --clear-groups "$program" device make-machine-key
machine c "a machine without a place for its key"
touch "$WORK/machine-c/tokenkeep"
run device make-machine-key

machine b "a copy of it elsewhere"
printf two | "$program" save example.com two
cp -a vault copy
TOKENKEEP_VAULT=$WORK/copy
run load example.com two
run load example.com four
run save example.com four <<<new
run password set --stdin <<<horse
run device show
run status
TOKENKEEP_VAULT=$WORK/vault

machine a "the first password"
run password set --stdin <<<horse
run load example.com four
printf five | run save example.com five --level when-passcode-set-$this
echo horse >password
chmod 600 password
printf asks | run save example.com asks --level after-first-unlock-$this --user-presence --password-file password
run lock
run load example.com four
run load example.com five
run unlock --stdin <<<horse
run load example.com five
run lock --screen
run load example.com three
run load example.com five
run load example.com four
run load example.com asks
run load example.com asks --password-file password
strengths

title "a lower level over a higher one"
run save example.com five --level after-first-unlock <<<lower
run save example.com three --level after-first-unlock-$this <<<lower
run save example.com four --level when-unlocked <<<lower
printf 'six' | run save example.com six --level after-first-unlock-$this --synchronizable

title "an export leaves them out"
run export out.tke --stdin <<<passphrase

title "the password and the recovery code"
code=$("$TOKENKEEP" recovery create --stdin <<<horse)
printf 'horse\nnew\n' | run password change --stdin
run lock
run unlock --stdin <<<new
run load example.com four
run load example.com five
printf 'new\nnewer\n' | run password change --stdin --compromised
run load example.com four
run load example.com three
code=$("$TOKENKEEP" recovery create --stdin <<<newer)
cp -a vault forgotten
TOKENKEEP_VAULT=$WORK/forgotten
forget
printf '%s\nrecovered\n' "$code" | run recovery use --stdin
run load example.com four
run load example.com three
run load example.com five
run status
TOKENKEEP_VAULT=$WORK/vault

rm -rf copy
cp -a vault copy
TOKENKEEP_VAULT=$WORK/copy
machine b "a copy elsewhere, with the password"
run unlock --stdin <<<newer
run load example.com two
run load example.com four
run load example.com five
run list
run export out2.tke --stdin <<<passphrase
printf 'newer\nother\n' | run password change --stdin
run password remove --stdin <<<newer
run recovery create --stdin <<<newer
printf '%s\nrecovered\n' "$code" | run recovery use --stdin
cp -a copy given-up
TOKENKEEP_VAULT=$WORK/given-up
printf '%s\nrecovered\n' "$code" | run recovery use --destroy-items --stdin
run list
run device show
TOKENKEEP_VAULT=$WORK/copy
forget
run unlock --stdin <<<newer
run device make-machine-key
run unlock --stdin <<<newer
run device show --json
run status
strengths
printf 'newer\nother\n' | run password change --stdin
run device re-bind --stdin <<<newer
run load example.com two
run device re-bind --destroy-items --stdin <<<newer
printf '%s\nrecovered\n' "$code" | run recovery use --stdin
printf 'recovered\nnewer\n' | run password change --stdin
run list
printf again | run save example.com four --level after-first-unlock-$this
run lock
run unlock --stdin <<<newer
run load example.com four
run load example.com two
TOKENKEEP_VAULT=$WORK/vault

machine a "bound anew while the device answers"
run unlock --stdin <<<newer
run device re-bind --stdin <<<newer
run load example.com four
run load example.com three
run load example.com five
run load example.com two

cp -a machine-a machine-d
machine d "a clone of the machine"
run unlock --stdin <<<newer
run load example.com four

machine a "a machine key that is refused"
key=$WORK/machine-a/tokenkeep/machine-key
fault() { run lock; run unlock --stdin <<<newer; run load example.com four; run load example.com two; }
chmod 644 "$key"
fault
chmod 444 "$key"
chown 65534 "$key"
fault
chown 0 "$key"
mv "$key" "$key.real"
ln -s machine-key.real "$key"
fault
rm "$key"
head -c 31 "$key.real" >"$key"
chmod 444 "$key"
fault
rm -f "$key"
chmod 777 "$WORK/machine-a/tokenkeep"
cp -p "$key.real" "$key"
fault
chmod 755 "$WORK/machine-a/tokenkeep"
run unlock --stdin <<<newer
run load example.com four

title "without the password again"
run password remove --stdin <<<newer
run password remove --stdin --destroy-items <<<newer
run list
run load example.com four
run load example.com three
run device re-bind machine-key
run load example.com four
