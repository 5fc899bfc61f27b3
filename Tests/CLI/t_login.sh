# The program's report of logins, and the calls of the PAM module. Tests/Login has the module itself.
title "the calls of the PAM module are not shown"
run login --help
run login status --help

mkdir pam.d
# The times of the scenario's own notes stay.
status() { run login status --pam-directory pam.d "$@" | sed -E '/2025-11-24T/!s/[0-9]{4}-[0-9-]+T[0-9:]+Z/TIME/'; }

title "no vault, no module"
status
run login unlock --service sshd <<<"a password"
run login confirm --service sshd

title "a vault without a password"
printf secret | "$TOKENKEEP" save example.com ann
status
printf 'a password' | run login unlock --service sshd

title "a vault with a password that no login has reached"
echo 'a password' | "$TOKENKEEP" password set --stdin
"$TOKENKEEP" lock
status

title "services with and without the module"
cat >pam.d/common-auth <<'PAM'
auth	[success=1 default=ignore]	pam_unix.so nullok
auth	requisite			pam_deny.so
auth	optional	/usr/lib/security/pam_tokenkeep.so	# session optional pam_tokenkeep.so
PAM
echo '-session optional \
  pam_tokenkeep.so' >pam.d/common-session
printf '@include common-auth\n@include common-session\n' >pam.d/login
printf 'auth substack common-auth\nsession include common-auth\n' >pam.d/sshd
printf 'auth required pam_unix.so\n' >pam.d/swaylock
printf 'password required pam_unix.so\n@include passwd\n' >pam.d/passwd
mkfifo pam.d/greetd
status
status --json

title "the outcomes, and where they are told"
for word in unlocked wrong-password too-slow no-password unreachable not-followed; do
    echo "1764000000 sshd $word" >vault/login
    status
    "$TOKENKEEP" status | grep -A1 '^login'
done
status --json

title "a service whose session line alone runs the module"
printf '@include common-session\n' >pam.d/lightdm
echo '1764000000 lightdm no-password' >vault/login
status
status --json | grep -A5 '"last"'
echo '1764000000 unheard-of no-password' >vault/login
status | grep 'last login'
rm pam.d/lightdm

title "a file that breaks the rules counts as missing"
for line in "" "x" "1764000000 sshd opened" "-1 sshd unlocked" "1764000000 s/d unlocked" "1764000000 sshd unlocked more"; do
    echo "$line" >vault/login
    status --json | grep '"last"'
done
rm vault/login
mkfifo vault/login
status | grep "last login"

title "nor is it replaced, if it is no file"
printf 'a password' | run login unlock --service sshd
stat -c %F vault/login
rm vault/login

title "the login's password opens the vault, and the next login finds it open"
"$TOKENKEEP" lock
printf wrong | run login unlock --service sshd
cut -d' ' -f2- vault/login
printf 'a password' | run login unlock --service 'no name'
cut -d' ' -f2- vault/login
run load example.com ann
printf wrong | run login unlock --service sshd
cut -d' ' -f2- vault/login

title "the vault's password follows the login's"
printf 'a password\0another\0' | run login password --service passwd
cut -d' ' -f2- vault/login
printf 'a password\0third\0' | run login password --service passwd
cut -d' ' -f2- vault/login
printf '\0third\0' | run login password --service passwd
printf 'third' | run login password --service passwd
echo another | "$TOKENKEEP" unlock --stdin && echo "the password is the second"

title "a change by hand ends what is known"
printf 'another\nthird\n' | "$TOKENKEEP" password change --stdin
ls vault/login
"$TOKENKEEP" lock

title "a vault without a password gets the login's, if the PAM module has the option create"
export TOKENKEEP_VAULT="$WORK/created"
printf 'a password' | run login unlock --service login
printf secret | "$TOKENKEEP" save example.com ann
printf 'a password' | run login unlock --service login
printf 'a password' | run login unlock --service login --create
cut -d' ' -f2- created/login
run load example.com ann
"$TOKENKEEP" lock
run load example.com ann
printf 'wrong' | run login unlock --service login --create
printf 'a password' | run login unlock --service login --create
run load example.com ann

title "a missing vault is made with it"
export TOKENKEEP_VAULT="$WORK/made"
printf '' | run login unlock --service login --create
printf 'a password' | run login unlock --service login --create
status | grep -e vault -e last

# Another login derives a key, until release_lock. `login_waits` then waits until a further login has noted its beginning.
other_login() { hold_lock fefefefefefefefe 4611686018427387904; }
login_waits() { until [ "$(cut -d' ' -f3 made/login)" = too-slow ]; do :; done; }

title "a login that is ended before it has the key"
printf 'a password' >password
"$TOKENKEEP" lock
other_login
printf 'a password' | "$TOKENKEEP" login unlock --service sshd &
ended=$!
login_waits
# The shell tells of the end as soon as it knows.
{
    kill -9 $ended
    wait $ended
} 2>/dev/null
status
run login confirm --service sshd
status --json | grep -A4 '"last"'
release_lock

title "a login that waits for another one derives no key"
printf 'a password' | run login unlock --service login
"$TOKENKEEP" lock
echo '1764000000 login no-password' >made/login
other_login
(printf 'another password, which nobody asks about' | "$TOKENKEEP" login unlock --service sshd; echo "[exit $?]" >waited) &
login_waits
"$TOKENKEEP" unlock --stdin <password
release_lock
cat waited
status | grep last
