# needs: pass strace
# Entries of pass become items.
from() { run import --from "$@"; ! grep -q 'sesame' "$WORK/tmp/err" "$WORK/tmp/out" || echo "A SECRET IS SHOWN"; }
export GNUPGHOME=$WORK/gnupg
mkdir -m 700 gnupg
gpg --batch --quiet --passphrase "" --quick-generate-key test@example.com default default never 2>/dev/null
pass init test@example.com >/dev/null
printf 'sesame1\n' | pass insert -m web/example.com/ann >/dev/null
printf 'sesame2\nurl: x\n' | pass insert -m web/two >/dev/null
printf 'sesame3' | pass insert -m alone >/dev/null
echo sesame >home/.password-store/web/broken.gpg
printf 'sesame4' | pass insert -m 'a b/ä' >/dev/null
ln -s web home/.password-store/link

title "each entry is decrypted, saved and read back"
from pass --dry-run
from pass
run load web/example.com ann
run load web two
run load alone ''
run load 'a b' 'ä'

title "what was read back is removed"
printf changed | run save web two
# The third file: the two before it are gone.
refused unlink:error=EROFS "$WORK/home/.password-store/web/example.com/ann.gpg" import --from pass --remove
find home/.password-store -name '*.gpg' | sort
from pass --remove
find home/.password-store -name '*.gpg' | sort

title "gpg's reason is said, and nobody is asked for each entry"
gpgconf --kill gpg-agent
echo "pinentry-program $WORK/none/pinentry" >gnupg/gpg-agent.conf
gpg --batch --quiet --pinentry-mode loopback --passphrase sesame --quick-generate-key locked@example.com default default never 2>/dev/null
mkdir mixed
mkdir -m 700 without-keys
for name in one two; do echo sesame | gpg --batch --quiet --trust-model always -e -r locked@example.com >mixed/$name.gpg; done
echo sesame5 | gpg --batch --quiet --trust-model always -e -r test@example.com >mixed/open.gpg
gpgconf --kill gpg-agent
from pass mixed
(export GNUPGHOME=$WORK/without-keys; from pass mixed; gpgconf --kill gpg-agent)
gpgconf --kill gpg-agent

title "a folder that is not there, gpg that is not there, a file in the folder's place"
from pass none
mkdir empty
printf '#!/bin/sh\nPATH=%s exec %s "$@"\n' "$WORK/empty" "$TOKENKEEP" >"$WORK/tmp/without-gpg" && chmod 755 "$WORK/tmp/without-gpg"
(TOKENKEEP=$WORK/tmp/without-gpg; from pass)
(export PASSWORD_STORE_DIR=$WORK/empty; from pass)
from netrc home/.password-store/web/two.gpg

title "a name that is not UTF-8 is said, and a link to an entry is read"
mkdir odd
echo sesame >odd/$'\xff.gpg'
ln -s ../home/.password-store/web/two.gpg odd/linked.gpg
from pass odd
run load linked ''

title "a locked vault is found before an entry is decrypted"
run password set --stdin <<<horse
run lock
strace -f -qq -e trace=execve -o trace "$TOKENKEEP" import --from pass odd 2>/dev/null
echo "[exit $?] $(grep -c 'gpg"' trace) starts of gpg"
