# needs: keyring
# Items of every program in a real keyring.
cat >scenario.sh <<'SCENARIO'
title "an empty keyring"
run search
run search --json
run load --attribute service=github.com

title "items of several programs"
printf 'secret of git' | secret-tool store --label='Git: https://github.com' xdg:schema org.git.Password user ann protocol https server github.com
printf 'secret of docker' | secret-tool store --label='Registry credentials' xdg:schema io.docker.Credentials label 'Docker Credentials' server https://index.docker.io/v1/ username bob docker_cli 1
printf 'secret of Python' | secret-tool store --label="Password for 'ann' on 'pypi'" service pypi username ann application 'Python keyring library'
printf 'secret of gh' | secret-tool store --label=gh service gh:github.com username ann
printf 'ours' | run save example.com ann --stack 'any required secret-service'
run search >out
sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/; s/ +/ /g' out | sort
run search github.com >out
sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/; s/ +/ /g' out
run search --attribute xdg:schema=io.docker.Credentials --json
run search pypi --attribute username=ann --attribute application='Python keyring library' --json | grep -c '"service" : "pypi"'
run search pypi --attribute username=nobody
run search nobody
run search --attribute sesame

title "the secret of the only one"
run load --attribute xdg:schema=org.git.Password --attribute server=github.com
run load pypi --attribute username=ann
run load --attribute service=example.com
run load --attribute username=ann >out
sed 's/attributes: .*/attributes: NAMES/' out
run load --attribute username=nobody
run load pypi ann --attribute username=ann
run load pypi --attribute username=ann --json
run load

title "an item that the vault sealed"
run password set --stdin <<<horse
printf 'sealed' | run save sealed.example ann --level when-unlocked --stack 'any required secret-service'
run load --attribute tokenkeep:service=sealed.example

title "a locked keyring is named, and nothing is asked"
gdbus call --session --dest org.freedesktop.secrets --object-path /org/freedesktop/secrets \
    --method org.freedesktop.Secret.Service.Lock "['/org/freedesktop/secrets/collection/login']" >/dev/null
run search nobody
run search github.com >out
sed -E 's/ +/ /g' out
run load --attribute xdg:schema=org.git.Password
run load --attribute username=nobody

title "a service that does not answer"
export DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent
run search
run search --timeout x
SCENARIO
python3 "$HERE/keyring.py" "$(cat scenario.sh)"
