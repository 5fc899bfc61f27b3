# Headers that are put back, and headers that are damaged.
keys() { python3 "$HERE/keys.py" "$@"; }
report() { "$TOKENKEEP" protection | sed -n '1,3p;8p'; }
# The headers of an earlier copy; all of it, in the place of what is there.
put_back() { cp "$(era "$WORK/$1")"/header "$(era "$WORK/$1")"/header.2 "$(era)/"; }
put_all_back() { place_vault "$WORK/$1"; }
damage() { printf xxxxxxxx | dd of="$(era)/$1" bs=1 seek="$2" conv=notrunc status=none; }
files() { (cd "$TOKENKEEP_VAULT" && find . -type f -exec sha256sum {} + | sort -k2); }

printf secret | run save example.com ann
run password set --stdin <<<one
cp -a "$TOKENKEEP_VAULT" "$WORK/one"

title "after a change of the password alone the older header is refused while the machine is on, locked and unlocked"
printf 'one\ntwo\n' | run password change --stdin
printf secret | run save example.com later
cp -a "$TOKENKEEP_VAULT" "$WORK/two"
put_back one
files >before
run load example.com later
printf new | run save example.com later
run clear example.com later
run list
run protection
run unlock --stdin <<<one
run unlock --stdin <<<two
printf 'one\nhis\n' | run password change --stdin
printf 'one\nhis\n' | run password change --stdin --compromised
files | diff before - && echo "nothing was written"
run lock
keys count "$TOKENKEEP_VAULT"
run unlock --stdin <<<one
run load example.com later
put_back two
run load example.com later
run unlock --stdin <<<two
run load example.com later

title "after a start of the machine it is not detected: it brings its password back, to what those keys opened"
keys forget "$TOKENKEEP_VAULT"
put_back one
run unlock --stdin <<<two
run unlock --stdin <<<one
run load example.com later
report
run lock
keys forget "$TOKENKEEP_VAULT"
put_back two

title "after a change that was told of somebody who knows it: its header, and its header and keyfile, open nothing at any time"
run unlock --stdin <<<two
printf 'two\nthree\n' | run password change --stdin --compromised
cp -a "$TOKENKEEP_VAULT" "$WORK/three"
for start in no yes; do
    for time in one two; do
        echo "# the header of $time; the machine was started since: $start"
        put_back "$time"
        [ $start = no ] || keys forget "$TOKENKEEP_VAULT"
        run unlock --stdin <<<"$time"
        run load example.com later
        cp "$(era "$WORK/$time")/keyfile" "$(era)/"
        run unlock --stdin <<<"$time"
        run load example.com later
        put_all_back three
    done
done
run unlock --stdin <<<three
run load example.com later

title "the whole era of before: refused while the machine is on"
cp -a "$WORK/two/era-2" "$TOKENKEEP_VAULT/" && ln -sfn era-2 "$TOKENKEEP_VAULT/current"
run load example.com ann
run unlock --stdin <<<two
printf 'two\nhis\n' | run password change --stdin --compromised
run lock
run unlock --stdin <<<two

title "after its start it shows what was in it, and no item that was saved since"
keys forget "$TOKENKEEP_VAULT"
run unlock --stdin <<<two
run load example.com ann
put_all_back three
run lock
keys forget "$TOKENKEEP_VAULT"
run unlock --stdin <<<three
run load example.com later

title "a record that is put back is not detected: a cleared item rises again"
run clear example.com later
run load example.com later
cp "$(era "$WORK/three")"/records/* "$(era)/records/"
run load example.com later

title "one copy damaged, either: as if nothing were"
code=$("$TOKENKEEP" recovery create --stdin <<<three)
run export "$WORK/export" --stdin <<<passphrase
cp -a "$TOKENKEEP_VAULT" "$WORK/whole"
for name in header header.2; do
    damage "$name" 200
    run load example.com ann
    report
    put_back whole
done

title "both damaged: each command says so and the way out, and writes nothing"
for name in header header.2; do damage "$name" 200; done
files >before
run load example.com ann
printf new | run save example.com ann
printf new | run save example.com new
run clear example.com ann
run list
run status
run protection
run unlock --stdin <<<three
printf 'three\nfour\n' | run password change --stdin
printf 'three\nfour\n' | run password change --stdin --compromised
run password set --stdin <<<four
run password remove --stdin <<<three
run recovery create --stdin <<<three
printf '%s\nfour\n' "$code" | run recovery use --stdin
run export "$WORK/second" --stdin <<<passphrase
run import "$WORK/export" --stdin <<<passphrase
keys count "$TOKENKEEP_VAULT"
# Which keys are to end, the keyfile says.
run lock
keys count "$TOKENKEEP_VAULT"
files | diff before - && echo "nothing was written"

title "the way out: the header from a backup, with password or code"
put_back whole
run unlock --stdin <<<three
run load example.com ann
printf '%s\nfour\n' "$code" | run recovery use --stdin
run load example.com ann
run lock

title "the way out: a new vault and an export"
mv "$TOKENKEEP_VAULT" lost
run import "$WORK/export" --stdin <<<passphrase
run load example.com ann
run load example.com later
