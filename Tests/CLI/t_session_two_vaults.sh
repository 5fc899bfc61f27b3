# needs: keyring
# Two vaults above one keyring, as of a program in Flatpak: a session that the other vault began is found.
mkdir -p config/tokenkeep/stack.d
printf 'any sufficient secret-service\nany required vault\n' >config/tokenkeep/stack.d/default.conf
cat >scenario.sh <<'SCENARIO'
in_vault() { export TOKENKEEP_VAULT=$WORK/$1; title "vault $1: $2"; }
begin() { printf '{"access_token":"%s","refresh_token":"r-%s","expires_in":3600}' "$1" "$1" | run session begin api.example.com ann; }
look() { show_all | sed -E 's/[0-9]{4}-[0-9-]+T[0-9:]+Z/TIME/'; }
show_all() {
    run session token api.example.com ann
    run session show api.example.com ann
    run session token api.example.com
    run session list
}

in_vault first "begins a session"
begin one

in_vault second "finds it"
run session token api.example.com
look

in_vault second "begins another"
begin two

in_vault first "finds this one"
look

in_vault first "ends it"
run session logout api.example.com ann
look

in_vault second "knows that it ended"
look

in_vault second "begins again"
begin three

in_vault first "was signed out, and stays so until a sign-in"
look
begin four
look
SCENARIO
python3 "$HERE/keyring.py" "$(cat scenario.sh)"
