# Findings of doctor about the helpers of git, docker, cargo and Python, and about files of plain tokens.
# slowness: 12
. "$HERE/doctor.sh"
helper=${TOKENKEEP%/*}/tokenkeep-credential

title "git"
doctor helpers
git config --global credential.helper store
doctor helpers
git config --global --unset credential.helper
git config --global credential.helper tokenkeep
doctor helpers
ln -s "$helper" bin/git-credential-tokenkeep
doctor helpers
git config --global credential.helper "$helper git"
doctor helpers
git config --global credential.https://github.com.helper store
git config --global credential.https://gitlab.com.helper '!glab auth git-credential'
git config --global credential.helper cache
doctor helpers
git config --global --add credential.helper ''
git config --global --add credential.helper tokenkeep
doctor helpers
printf '[credential\n' >"$HOME/.gitconfig"
doctor helpers
rm "$HOME/.gitconfig"

title "git, by a command with ! in front"
export GIT_CEILING_DIRECTORIES=$WORK
git config --global credential.helper "!$helper git"
doctor helpers
git config --global credential.helper "!f() { $WORK/tokenkeep-credential git; }; f"
doctor helpers
git config --global credential.helper "!$WORK/\$(touch\${IFS}ran)/tokenkeep-credential git"
doctor helpers
git config --global credential.helper "$WORK/\$(touch\${IFS}ran)/tokenkeep-credential git"
doctor helpers
git config --global --unset credential.helper

title "git, by the other spellings of its store"
for store in /usr/lib/git-core/git-credential-store '!git credential-store' '!f() { git credential-store "$@"; }; f' 'store --file x'; do
    git config --global credential.helper "$store"
    doctor helpers
done
git config --global --unset credential.helper

title "git, by settings with secrets, which are not shown"
git config --global credential.helper '!f() { echo username=x; echo "password=sesame"; }; f'
git config --global 'credential.https://ann:sesame@a.example.helper' 'other --token=sesame'
git config --global 'credential.https://b.example.helper' '!TOKEN=sesame other'
doctor helpers
PATH="$WORK/bin" "$TOKENKEEP" doctor --json --system-root "$WORK/root" | grep -c sesame
rm "$HOME/.gitconfig"

title "git, in a strange repository: none of its commands runs"
git init -q strange
printf '#!/bin/sh\ntouch "%s/ran"\n' "$WORK" >strange/git-credential-tokenkeep
chmod 755 strange/git-credential-tokenkeep
git -C strange config credential.helper "$WORK/strange/git-credential-tokenkeep"
(cd strange && doctor helpers)
git -C strange config credential.helper "!$WORK/strange/git-credential-tokenkeep"
(cd strange && doctor helpers)
git -C strange config --unset credential.helper
git -C strange config alias.credential-tokenkeep "!$WORK/strange/git-credential-tokenkeep"
git config --global credential.helper tokenkeep
mv bin/git-credential-tokenkeep tmp/
(cd strange && doctor helpers)
mv tmp/git-credential-tokenkeep bin/
git config --global --unset credential.helper
git -C strange config "credential.https://a'b;c.helper" store
(cd strange && doctor helpers)
[ ! -e ran ] && [ ! -e strange/ran ] && echo "nothing ran"

title "a git that does not tell where its settings are from"
own git '#!/bin/sh\nexit 129\n'
doctor helpers
rm "$HOME/.gitconfig" bin/git

title "docker"
docker() { mkdir -p "$HOME/.docker" && echo "$1" >"$HOME/.docker/config.json"; }
docker '{"auths": {"registry.example": {}}}'
doctor helpers plaintext
docker '{"credsStore": "secretservice"}'
doctor helpers
own docker-credential-secretservice '#!/bin/sh\n'
doctor helpers
docker '{"credsStore": "tokenkeep"}'
doctor helpers
ln -s "$helper" bin/docker-credential-tokenkeep
doctor helpers
echo horse | run password set --stdin
run lock
doctor helpers
echo horse | run unlock --stdin
echo "any required" >config/tokenkeep/stack.d/default.conf
doctor helpers
echo "any required vault" >config/tokenkeep/stack.d/default.conf
docker '{"credsStore": "tokenkeep", "credHelpers": {"a.example": "tokenkeep", "b.example": "secretservice", "c.example": "gcloud"}}'
doctor helpers
title "docker, by an empty helper, a helper whose name the shell would read, and ours for a single registry"
docker '{"credsStore": "", "credHelpers": {"a.example": "", "b.example": "x;touch ran"}}'
doctor helpers
own 'docker-credential-x;touch ran' '#!/bin/sh\n'
doctor helpers
docker '{"credsStore": "secretservice", "credHelpers": {"a.example": "tokenkeep"}}'
doctor helpers
echo "any required" >config/tokenkeep/stack.d/default.conf
doctor helpers
echo "any required vault" >config/tokenkeep/stack.d/default.conf
rm bin/docker-credential-*
mkdir tools
ln -s "$helper" tools/docker-credential-tokenkeep
ln -s "$helper" tools/cargo-credential-tokenkeep
printf '#!/bin/sh\nPATH=%s:tools exec %s "$@"\n' "$WORK/bin" "$TOKENKEEP" >tmp/relative
chmod 755 tmp/relative
(TOKENKEEP=$WORK/tmp/relative && doctor helpers)
title "docker, by helpers for a path, which it never asks, and by an address with a password"
docker '{"credHelpers": {"a.example/org": "tokenkeep", "https://index.docker.io/v1/": "x", "ann:sesame@b.example": "x"}}'
doctor helpers
title "docker, by a file that it refuses"
docker '{"credsStore": "tokenkeep", "credsStore": "pass"}'
doctor helpers
rm -r "$HOME/.docker"

title "cargo"
mkdir "$HOME/.cargo"
echo '[registry]' >"$HOME/.cargo/config.toml"
doctor helpers
echo 'global-credential-providers = ["cargo:token", "cargo-credential-tokenkeep"]' >>"$HOME/.cargo/config.toml"
doctor helpers
(TOKENKEEP=$WORK/tmp/relative && doctor helpers)
ln -s "$helper" bin/cargo-credential-tokenkeep
doctor helpers
own cargo-credential-tokenkeep '#!/bin/sh\nexit 1\n'
doctor helpers
printf "[registry]\nglobal-credential-providers = [\n    'cargo:token',\n    '%s/a;b/cargo-credential-tokenkeep',\n]\n" "$WORK" >"$HOME/.cargo/config.toml"
doctor helpers
mkdir 'a;b'
ln -s "$helper" 'a;b/cargo-credential-tokenkeep'
doctor helpers
printf '[registry]\nglobal-credential-providers = ["cargo:libsecret"]\n' >"$HOME/.cargo/config.toml"
doctor helpers
rm bin/cargo-credential-tokenkeep
ln -s "$helper" bin/cargo-credential-tokenkeep
# cargo_settings TEXT: what doctor says of this file.
cargo_settings() {
    printf "$1" >"$HOME/.cargo/config.toml"
    doctor helpers
}
title "cargo, which asks the last provider of the list first"
cargo_settings '[registry]\nglobal-credential-providers = ["cargo-credential-tokenkeep", "cargo:token"]\n'
cargo_settings '[registry]\nglobal-credential-providers = ["cargo-credential-tokenkeep", "cargo:libsecret"] # last: cargo-credential-tokenkeep\n'
cargo_settings '[registry]\nglobal-credential-providers = [\n  "cargo:token",\n  # "cargo-credential-tokenkeep",\n]\n'
cargo_settings '[registry]\n# global-credential-providers = ["cargo-credential-tokenkeep"]\nglobal-credential-providers = []\n'
cargo_settings '[registry]\nglobal-credential-providers = [ # ]\n  "cargo:token", # "x"]\n  "cargo-credential-tokenkeep --stack vault", # last\n]\n'
title "cargo, by the other spellings of its setting"
cargo_settings 'registry.global-credential-providers = ["cargo:token", "cargo-credential-tokenkeep"]\n'
cargo_settings '"registry" = { default = "x", global-credential-providers = ["cargo-credential-tokenkeep"] }\n'
cargo_settings '[build]\njobs = 2\n[ "registry" ] # x\n  "global-credential-providers"=["cargo-credential-tokenkeep"]\n[net]\nretry = 2\n'
cargo_settings '[registries.one]\nglobal-credential-providers = ["cargo-credential-tokenkeep"]\n'
cargo_settings '[net]\nregistry.global-credential-providers = ["cargo-credential-tokenkeep"]\n'
title "cargo, by aliases and by providers of single registries"
alias_of_ours='[credential-alias]\nkept = ["cargo-credential-tokenkeep", "--stack", "vault"]\n"cargo:token" = "cargo-credential-tokenkeep"\n'
cargo_settings "$alias_of_ours[registry]\nglobal-credential-providers = ['cargo:token', 'kept']\n"
cargo_settings "$alias_of_ours[registry]\nglobal-credential-providers = ['kept --with-arguments']\n"
cargo_settings "$alias_of_ours[registry]\nglobal-credential-providers = ['kept', 'cargo:token']\n"
cargo_settings "$alias_of_ours[registry]\ncredential-provider = 'kept'\n[registries.one]\nindex = 'x'\ncredential-provider = 'cargo:token'\n"
cargo_settings "$alias_of_ours[registry]\ncredential-provider = ['cargo:token-from-stdout', 'pass', 'x']\n[registries]\none = { index = 'x', credential-provider = ['kept'] }\ntwo = { index = 'y' }\n"
cargo_settings 'registry.global-credential-providers = ["cargo-credential-tokenkeep"]\nregistries.one.credential-provider = "/none/cargo-credential-tokenkeep x"\n'
cargo_settings '\357\273\277[registry]\r\nglobal-credential-providers = [\r\n    "cargo-credential-tokenkeep"\r\n]\r\n'
cargo_settings '[registry\n]\n"\nx = [[[[\n'
cargo_settings '[registry]\nglobal-credential-providers = [{ a = [1, "b"] }, 2, "cargo-credential-tokenkeep", ]\n'
python3 -c 'print("x = " + "[" * 50000)' >"$HOME/.cargo/config.toml"
doctor helpers
rm -r "$HOME/.cargo"

title "cargo, by a relative CARGO_HOME in a strange archive, and by a file that others may write: no provider of theirs runs"
mkdir -p unpacked/.cargo
printf '#!/bin/sh\ntouch "%s/ran"\n' "$WORK" >unpacked/cargo-credential-tokenkeep
chmod 755 unpacked/cargo-credential-tokenkeep
printf '[registry]\nglobal-credential-providers = ["%s"]\n' "$WORK/unpacked/cargo-credential-tokenkeep" >unpacked/.cargo/config.toml
chmod 644 unpacked/.cargo/config.toml
(cd unpacked && CARGO_HOME=.cargo doctor helpers)
chmod 666 unpacked/.cargo/config.toml
CARGO_HOME="$WORK/unpacked/.cargo" doctor helpers
[ ! -e ran ] && echo "nothing ran"

title "Python, by the backend that keyring chooses"
borrow python3
mkdir python
backend() {
    printf 'class Backend:\n    pass\nBackend.__module__, Backend.__name__ = "%s", "%s"\ndef get_keyring():\n    return Backend()\n' "$@" >python/keyring.py
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$WORK/python" doctor helpers
}
backend tokenkeep.keyring Keyring
backend keyring.backends.fail Keyring
backend keyrings.alt.file PlaintextKeyring
backend keyring.backends.SecretService Keyring
echo 'raise RuntimeError' >python/keyring.py
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$WORK/python" doctor helpers

title "Python, in a strange archive: none of its modules runs"
rm -rf python/__pycache__
backend tokenkeep.keyring Keyring >tmp/first
mkdir archive
printf 'open("%s/ran", "w")\n' "$WORK" >archive/keyring.py
cp archive/keyring.py archive/sitecustomize.py
cp archive/keyring.py archive/tokenkeep.py
for path in "$WORK/python" "$WORK/python:" ":$WORK/python" ".:$WORK/python"; do (cd archive && PYTHONPATH="$path" doctor helpers); done
[ ! -e ran ] && echo "nothing ran"
find python archive -name __pycache__
rm bin/python3

title "programs that hang are ended, and the rest is said"
hang git
doctor_hung 1 doctor helpers clock
rm bin/git

title "helpers that hang together are ended together"
borrow git
git config --global credential.helper tokenkeep
docker '{"credsStore": "tokenkeep"}'
hang git-credential-tokenkeep docker-credential-tokenkeep python3
doctor_hung 3 doctor helpers
doctor_hung 3 python3 "$HERE/within.py" 5 env PATH="$WORK/bin" "$TOKENKEEP" doctor
rm -r bin/*-tokenkeep bin/python3 bin/git "$HOME/.gitconfig" "$HOME/.docker"

title "files of plain tokens"
plain() { mkdir -p "$HOME/$(dirname "$1")" && printf "$2" >"$HOME/$1" && chmod 600 "$HOME/$1"; }
plain .git-credentials 'https://ann:sesame@github.com\n'
touch -d '-12 days' "$HOME/.git-credentials"
plain .netrc 'machine example.com login ann password sesame\n'
plain .docker/config.json '{"auths": {"registry.example": {"auth": "c2VzYW1l"}}}'
plain .cargo/credentials.toml '[registry]\ntoken = "sesame"\n'
plain .npmrc '//registry.npmjs.org/:_authToken=sesame\n'
plain .yarnrc.yml 'npmAuthToken: "sesame"\n'
plain .pypirc '[pypi]\npassword = sesame\n'
plain .aws/credentials '[default]\naws_access_key_id = A\naws_secret_access_key = sesame\n'
plain .aws/sso/cache/0.json '{"accessToken": "sesame"}'
plain .aws/cli/cache/0.json '{"Credentials": {"SecretAccessKey": "sesame"}}'
plain .aws/login/cache/0.json '{"refreshToken": "sesame"}'
plain .azure/msal_token_cache.json '{"AccessToken": {"a": {"secret": "sesame"}}}'
plain .azure/service_principal_entries.json '[{"client_secret": "sesame"}]'
plain .kube/config 'users:\n- user:\n    client-key-data: sesame\n'
plain .kube/cache/oidc-login/0 '{"id_token":"sesame"}'
plain .terraform.d/credentials.tfrc.json '{"credentials": {"app.example": {"token": "sesame"}}}'
plain .vscode/cli/token.json '"sesame"'
plain .claude/.credentials.json '{"claudeAiOauth": {"accessToken": "sesame"}}'
plain .codex/auth.json '{"tokens": {"access_token": "sesame"}}'
plain .codex/.credentials.json '{"a": "sesame"}'
plain .gemini/oauth_creds.json '{"access_token": "sesame"}'
plain .copilot/config.json '{"copilot_tokens": {"https://github.com:ann": "sesame"}}'
plain .databricks/token-cache.json '{"tokens": {"a": {"access_token": "sesame"}}}'
plain .local/share/uv/credentials/credentials.toml '[[credential]]\npassword = "sesame"\n'
plain .msmtprc 'account default\n\tpassword   sesame\n'
plain .local/share/python_keyring/keyring_pass.cfg '[pypi]\nann = c2VzYW1l\n'
for file in gh/hosts.yml glab-cli/config.yml containers/auth.json helm/registry/config.json pypoetry/auth.toml \
    gcloud/credentials.db gcloud/access_tokens.db gcloud/application_default_credentials.json rclone/rclone.conf; do
    mkdir -p "$WORK/config/$(dirname $file)" && (umask 077 && printf 'oauth_token: sesame\nann@example.comya29.sesame\ntoken: sesame\ntoken = sesame\n{"auth":"c2VzYW1l","refresh_token": "sesame"}\n' >"$WORK/config/$file")
done
mkdir -p run/containers && (umask 077 && printf '{"auths":{"a":{"identitytoken":"sesame"}}}' >run/containers/auth.json)
XDG_RUNTIME_DIR="$WORK/run" doctor plaintext
grep -c -e sesame -e c2VzYW1l tmp/out || true
chmod 644 "$HOME/.netrc"
doctor plaintext | grep -A 1 netrc

title "files in UTF-16, with a byte order mark and with the line ends of Windows"
plain .git-credentials '\357\273\277https://ann:sesame@github.com\r\n'
plain .netrc '\357\273\277machine example.com\r\n\tlogin ann\r\n\tpassword\r\n sesame\r\n'
plain .npmrc ''
printf '//registry.npmjs.org/:_authToken=sesame\r\n' | iconv -t UTF-16 >"$HOME/.npmrc"
mkdir -p config/glab-cli && printf 'hosts:\r\n    gitlab.com:\r\n        token: !!null sesame\r\n' >config/glab-cli/config.yml
doctor plaintext | grep -e '^problem.*\(git-credentials\|netrc\|npmrc\|glab\)'

title "which copy is newer"
plain .git-credentials 'https://ann:sesame@github.com\n'
touch -d '-12 days' "$HOME/.git-credentials"
printf sesame | run save git:https://github.com ann
doctor plaintext | grep git-credentials
touch -d '+1 hour' "$HOME/.git-credentials"
doctor plaintext | grep git-credentials

title "a token behind much other text, and behind bytes that are no UTF-8"
rm "$HOME"/.git-credentials
lines() { awk -v lines="$1" 'BEGIN { for (i = 0; i < lines; i++) print "    certificate-authority-data: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }'; }
{ lines 3000; printf '    token: sesame\n'; } >"$HOME/.kube/config"
printf '# caf\351\n[client]\npassword = sesame\n' >"$HOME/.my.cnf"
{ lines 30000; printf '    token: sesame\n'; } >long.yaml
printf 'users: []\n' >first.yaml
printf 'users:\n- user:\n    token: sesame\n' >second.yaml
doctor plaintext | grep -A 2 -e kube/ -e my.cnf
KUBECONFIG="$WORK/first.yaml:$WORK/second.yaml:$WORK/long.yaml" doctor plaintext | grep -A 2 yaml

title "a password that docker no longer writes, and still reads"
plain .docker/config.json '{"auths": {"registry.example": {"username": "ann", "password": "sesame"}}}'
doctor plaintext | grep -A 2 '^problem.*docker/'

# each FILE TEXT...: what doctor finds, if FILE has the text alone.
each() {
    local file=$1 text
    shift
    find "$HOME" "$WORK/config" ! -path "$WORK/config/tokenkeep/*" -type f -delete
    for text in "$@"; do
        case $file in config/*) mkdir -p "$(dirname "$file")" && printf "$text" >"$file" ;; *) plain "$file" "$text" ;; esac
        doctor plaintext | sed -E -n 's/^problem plaintext: ([^ ]*).*/found in \1/p; s/^ok plaintext.*/none in '"${file##*/}"'/p'
    done
}
title "tokens in other forms"
each .copilot/config.json '{"copilotTokens": {\n  "https://github.com:ann": "sesame"\n}}' '{"copilot_tokens":{}}'
each config/pypoetry/auth.toml '[pypi-token]\npypi = "sesame"\n' '[pypi-token]\n\n[http-basic.a]\nusername = "ann"\n'
each config/rclone/rclone.conf '[b]\ntype = b2\nkey = sesame\n' '[a]\nsas_url = https://x?sig=sesame\n' '[c]\npassword2 = sesame\n'
each .kube/config 'users:\n- user:\n    auth-provider:\n      config:\n        id-token: sesame\n' '        refresh-token: sesame\n'
each .gemini/.env 'export GEMINI_API_KEY="sesame"\n' 'reexport GEMINI_API_KEY=\n'
title "what looks like tokens, and is none"
each .npmrc '; //r/:_authToken=old\n'
each .azure/service_principal_entries.json '[]\n'
each .codex/.credentials.json '{ }'
each .vscode/cli/token.json '{}' 'null'
each .codex/auth.json '{"OPENAI_API_KEY":null,"tokens":null}' '{"OPENAI_API_KEY": null\n}'
title "files that variables name"
mkdir other
for text in 'auth.json={"OPENAI_API_KEY":"sesame"}' '.credentials.json={"a":"sesame"}' 'hosts.yml=oauth_token: sesame' \
    'aws=aws_secret_access_key = sesame' 'rclone=pass = sesame' 'npmrc=_auth=sesame' 'auths={"auths":{"a":{"auth":"sesame"}}}' \
    'netrc=machine a login b password sesame'; do
    echo "${text#*=}" >"other/${text%%=*}"
done
(
    cd other
    export CODEX_HOME=$PWD GH_CONFIG_DIR=$PWD AWS_SHARED_CREDENTIALS_FILE=$PWD/aws RCLONE_CONFIG=$PWD/rclone NETRC=$PWD/netrc
    export REGISTRY_AUTH_FILE=$PWD/auths
    NPM_CONFIG_USERCONFIG=$PWD/npmrc doctor plaintext
    npm_config_userconfig=$PWD/npmrc doctor plaintext | grep npmrc
)

title "files without tokens"
find "$HOME" config/gh config/glab-cli config/containers config/helm config/pypoetry config/gcloud config/rclone -type f -delete
plain .docker/config.json '{"auths": {"registry.example": {"auth": ""}, "b": {}}, "credsStore": "tokenkeep"}'
plain .npmrc '//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n# _authToken=old\nregistry=https://registry.npmjs.org\n'
plain .kube/config 'users:\n- user:\n    exec:\n      command: kubectl-tokenkeep\n'
plain .msmtprc 'account default\n\tpasswordeval tokenkeep-credential token tokenkeep://smtp/ann\n# password old\n'
plain .aws/config '[default]\nregion = eu\n'
plain .terraform.d/credentials.tfrc.json '{"credentials": {}}'
plain .git-credentials ''
plain .netrc '# machine a login b password c\r\nmachine example.com login ann\r\nmachine two.example login password password ""\r\nmacdef init\r\npassword x\r\n'
plain .authinfo '\n'
plain .aws/sso/cache/0.json '{"accessToken": null, "clientSecret": ""}'
plain .azure/service_principal_entries.json '[]\n'
plain .vscode/cli/token.json '{ }\r\n'
plain .codex/.credentials.json '{}'
plain .gemini/mcp-oauth-tokens.json '\357\273\277[]'
plain .vault-token '\r\n'
plain .pgpass '# host:port:db:user:password\nhost:5432:db:ann:\n'
plain .my.cnf '[client]\n; password = old\npassword =\r\n'
plain .local/share/python_keyring/keyring_pass.cfg '[pypi]\n# ann = c2VzYW1l\n'
mkdir -p config/gcloud config/glab-cli && printf 'SQLite format 3\0CREATE TABLE access_tokens(access_token TEXT)' >config/gcloud/access_tokens.db
printf 'SQLite format 3\0{"type": "external_account"}' >config/gcloud/credentials.db
printf 'hosts:\n    gitlab.com:\n        token: !!null\n    b:\n        token: ~\n' >config/glab-cli/config.yml
mkdir -p config/rclone && printf '# Encrypted rclone configuration File\nRCLONE_ENCRYPT_V0:\ntoken = AAAA\n' >config/rclone/rclone.conf
doctor plaintext
