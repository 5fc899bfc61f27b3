# Files of other programs whose entries no item can hold whole, pipes, and places that the environment names.
# Standard error too: no secret may be there.
from() { run import --from "$@"; ! grep -q 'sesame' "$WORK/tmp/err" "$WORK/tmp/out" || echo "A SECRET IS SHOWN"; }
items() {
    "$TOKENKEEP" list --json | python3 -c 'import json, sys
for item in json.load(sys.stdin)["items"]: print(item["service"][:60], "|", item["account"], "|", item["attributes"].get("url", ""))'
}
auth() { printf %s "$1" | base64; }

title "an entry beyond the limits of items does not keep the others out, and a dry run says the same"
python3 - <<'PYTHON'
import json
def login(name, password="sesame", **more):
    return {"type": 1, "name": name, "login": {"username": "ann", "password": password, **more}}
def at(uri):
    return {"uris": [{"uri": uri}]}
items = [login("One"), login("Long address", **at("https://" + "x" * 1024)), login("Two lines", **at("https://a\nb")),
         login("N" * 256), login("Line\nfeed"), login("NUL", "sesame\0" * 3), login("Long secret", "sesame" * 200_000),
         login("Last", **at("https://last.example"))]
with open("bitwarden.json", "w") as file:
    json.dump({"encrypted": False, "items": items}, file)
with open("keepassxc.csv", "w") as file:
    file.write('"Title","Username","Password","URL"\n"A","ann","sesame","' + "x" * 1025 + '"\n"B","bob","sesame","u"\n')
with open("credentials", "w") as file:
    file.write("https://ann:" + "sesame" * 200_000 + "@long.example\nhttps://ann:sesame@short.example\n")
with open("netrc", "w") as file:
    file.write("machine " + "m" * 256 + " login a password sesame\nmachine short.example login b password sesame\n")
with open("docker.json", "w") as file:
    json.dump({"auths": {"d" * 249: {"identitytoken": "sesame"}, "d.example": {"identitytoken": "sesame"}}}, file)
with open("keyring.cfg", "w") as file:
    file.write("[" + "k" * 256 + "]\nann = c2VzYW1l\n[k_0Aexample]\nann = c2VzYW1l\n[short_2Eexample]\nann = c2VzYW1l\n")
PYTHON
from bitwarden-json bitwarden.json --dry-run
from bitwarden-json bitwarden.json --remove
python3 -c 'import json; print(len(json.load(open("bitwarden.json"))["items"]), "items stay")'
for file in keepassxc.csv:keepassxc-csv credentials:git-credentials netrc:netrc docker.json:docker keyring.cfg:python-keyring; do
    from "${file#*:}" "${file%%:*}"
done
items

title "docker: what is there twice is named; an entry without a login is passed over"
cat >docker.json <<END
{"auths": {
  "twice.example": {"auth": "$(auth a:sesame)", "auth": "$(auth b:sesame)"},
  "same.example": {"auth": "$(auth a:sesame)"},
  "same.example": {"auth": "$(auth b:sesame)"},
  "empty.example": {"auth": ""},
  "null.example": {"auth": null, "identitytoken": null},
  "odd.example": {"identitytoken": 5},
  "pair.example": {"auth": "", "username": "ann", "password": "sesame"},
  "Case.example": {"Auth": "$(auth ann:sesame)"}
}}
END
from docker docker.json --remove
cat docker.json
printf '{"auths": 5}' >docker.json
from docker docker.json

title "python-keyring: a name with a malformed escape is named"
printf '[a_2Eexample]\na_ZZ = c2VzYW1l\nann = c2VzYW1l\n' >odd.cfg
from python-keyring odd.cfg

title "bitwarden: what is there twice is named, and the second of two addresses stays"
cat >bitwarden.json <<'END'
{"encrypted": false, "items": [
  {"name": "P", "login": {"username": "ann", "password": "sesame1", "password": "sesame2"}},
  {"name": "L", "login": {"username": "ann", "password": "sesame1"}, "login": {"username": "ann", "password": "sesame2"}},
  {"name": "Same", "login": {"username": "ann", "password": "sesame", "uris": [{"uri": "https://a.example"}]}},
  {"name": "Same", "login": {"username": "ann", "password": "sesame", "uris": [{"uri": "https://b.example"}]}},
  {"name": "Same", "login": {"username": "ann", "password": "sesame", "uris": [{"uri": "https://a.example"}]}}
]}
END
from bitwarden-json bitwarden.json --remove
cat bitwarden.json
printf '{"encrypted": true, "encrypted": false, "items": []}' >bitwarden.json
from bitwarden-json bitwarden.json

title "git-credentials: lines as git reads them"
cat >credentials <<'END'
https://ann:sesame@dir.example/dir//
https://raw:sesame100%@pct.example
https://nul:sesame%00@nul.example/
https://line:sesame%0a@line.example
cert://:sesame@/home/x/cert.pem
END
from git-credentials credentials
run load git:https://pct.example raw
run load git:https://nul.example nul
items | grep -e dir.example -e cert

title "netrc: a machine with a macro stays, for the macro would become that of the machine before it"
printf 'machine keep.example login k account a password sesame\n\nmachine ftp.example login ann password sesame\nmacdef init\nbin\n\nmachine last.example login b password sesame\n' >netrc
from netrc netrc --remove
cat netrc

title "pipes"
printf 'https://ann:sesame@pipe.example\n' >credentials
from git-credentials <(cat credentials)
cat credentials | from git-credentials -
cat credentials | from git-credentials /dev/stdin
from git-credentials - <credentials
cat credentials | from git-credentials - --remove
from git-credentials - --remove <credentials
wc -c <credentials
mkfifo silent
exec 7<>silent
from git-credentials silent --timeout 20ms
exec 7>&-
head -c 17000000 /dev/zero | from netrc -
(cat keepassxc.csv; printf '"%s","ann","sesame","u"\n' {1..4000}) | run import --from keepassxc-csv - --dry-run
echo horse | from git-credentials - --password-fd 0
from netrc - </dev/null

title "the places that the programs' own variables name"
mkdir -p moved/python_keyring home/.config/git
printf '{"auths": {"moved.example": {"auth": "%s"}}}' "$(auth ann:sesame)" >moved/config.json
(export DOCKER_CONFIG=$WORK/moved; from docker --dry-run)
printf '[moved_2Eexample]\nann = c2VzYW1l\n' >moved/python_keyring/keyring_pass.cfg
(export XDG_DATA_HOME=$WORK/moved; from python-keyring --dry-run)
printf 'https://ann:sesame@config.example\n' >home/.config/git/credentials
(unset XDG_CONFIG_HOME; from git-credentials --dry-run)
printf 'https://ann:sesame@home.example\n' >home/.git-credentials
(unset XDG_CONFIG_HOME; from git-credentials --dry-run)

title "a standard input of which a part was read before: nothing is removed from the rest, and the part is not lost"
printf 'machine first.example login a password sesame1\nmachine second.example login b password sesame2\n' >partly
{ read -r _; run import --from netrc - --remove; } <partly
cat partly
{ read -r _; run import --from netrc -; } <partly
run import --from netrc - --remove <partly
cat partly

title "a standard input whose file was deleted, as of a long here-document"
printf 'machine third.example login a password sesame\n' >deleted
{ rm deleted; run import --from netrc -; } <deleted
items
