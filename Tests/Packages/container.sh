# The second stage of packaging/Containerfile, step by step, on the clean machine: its user, its volume, a password from a mounted
# secret. Read by inside.sh.
quietly "the packages of the container" get install tokenkeep tokenkeep-common
steps=$(sed -n '/^FROM.*slim/,$p' /tests/Containerfile)
commands=$(echo "$steps" | sed -n '/^RUN/,/[^\\]$/p' | tr -d '\\' | tr '\n' ' ' | grep -o 'useradd.*')
quietly "the container's user and volume" sh -c "$commands"
mkdir -p /run/secrets
echo "the password" >/run/secrets/vault
chmod 444 /run/secrets/vault
in_container() { # COMMAND…: as the image's user, by its entry point
    setpriv --reuid tokenkeep --regid tokenkeep --init-groups env -i PATH=/usr/bin:/bin HOME=/home/tokenkeep \
        TOKENKEEP_VAULT="$(echo "$steps" | sed -n 's/^ENV TOKENKEEP_VAULT=//p')" TOKENKEEP_PASSWORD_FILE=/run/secrets/vault "$@"
}
quietly "a password for the vault in the volume" in_container sh -c 'tokenkeep password set'
is "the entry point runs a command for which the vault is unlocked" s3cr3t \
    "$(in_container tokenkeep run -- sh -c 'printf %s s3cr3t | tokenkeep save example.com ann && tokenkeep load example.com ann')"
is "without the secret the vault is locked" 3 "$(in_container env -u TOKENKEEP_PASSWORD_FILE tokenkeep lock >/dev/null 2>&1
    in_container env -u TOKENKEEP_PASSWORD_FILE tokenkeep load example.com ann >/dev/null 2>&1 || echo $?)"
