# Entries of other programs' files become items, and go from the files when asked.
secrets() {
    "$TOKENKEEP" list --json | python3 -c '
import json, subprocess, sys
for item in json.load(sys.stdin)["items"]:
    secret = subprocess.run([sys.argv[1], "load", item["service"], item["account"]], check=True, capture_output=True).stdout
    print(item["service"], "|", item["account"], "|", secret, "|", item["attributes"].get("url", ""))' "$TOKENKEEP"
}
empty() { "$TOKENKEEP" list --json | python3 -c 'import json, sys
for item in json.load(sys.stdin)["items"]: print(item["service"] + "\t" + item["account"])' | while IFS=$'\t' read -r service account; do
    "$TOKENKEEP" clear "$service" "$account"
done; }
# Standard error too: no secret may be there.
from() { run import --from "$@"; ! grep -q 'sesame' "$WORK/tmp/err" "$WORK/tmp/out" || echo "A SECRET IS SHOWN"; }

title "git-credentials"
cat >home/.git-credentials <<'END'
https://ann:sesame%401%25@github.com
# a comment
https://bob:sesame2@git.example:8443/group/repo.git
http://:sesame3@local.example

https://sesame.example
https://carl:sesame%zz@bad.example
ftp://dora:sesame:4@ftp.example/
END
chmod 640 home/.git-credentials
from git-credentials --dry-run
run list
from git-credentials
secrets
from git-credentials
printf 'another' | run save git:https://github.com ann
from git-credentials
from git-credentials --replace
printf 'another' | run save git:https://github.com ann
from git-credentials --remove
cat home/.git-credentials; stat -c %a home/.git-credentials
printf 'https://%%ff:sesame@github.com\n' >odd
from git-credentials odd
empty

title "a byte order mark before the text, and the line ends of Windows"
mark=$'\357\273\277'
printf "${mark}https://ann:sesame@marked.example\r\nhttps://sesame.example\r\n" >marked
from git-credentials marked --remove
cat -A marked
printf "${mark}machine a.example login ann password sesame1\r\n\r\nmachine b.example login\r\n bob password \"sesame 2\"\r\nmachine c.example login carl\r\n" >marked
from netrc marked --remove
cat -A marked
printf "${mark}machine a.example\r\nmacdef init\r\nmachine x password sesame\r\n\r\nmachine d.example password sesame3\r\n" >marked
from netrc marked --remove
cat -A marked
printf "$mark[example_2Ecom]\r\nann = \r\n\t$(printf sesame4 | base64)\r\n" >marked
from python-keyring marked --remove
cat -A marked
printf "$mark\"Title\",\"Username\",\"Password\"\r\n\"title\",\"ann\",\"sesame5\"\r\n" >marked
from keepassxc-csv marked --remove
cat -A marked
printf "$mark{\"items\":[\r\n{\"name\":\"n\",\"login\":{\"password\":\"sesame6\"}}\r\n]}\r\n" >marked
from bitwarden-json marked --remove
cat -A marked
secrets
printf 'machine a.example login ann password sesame\n' | iconv -t UTF-16 >marked
for format in netrc git-credentials docker python-keyring keepassxc-csv bitwarden-json; do from $format marked --remove; done
empty

title "netrc: an entry over several lines, quotations, macros, comments"
cat >home/.netrc <<'END'
# sesame in a comment
machine one.example login ann password sesame1
machine two.example
    login "bob"
    password "sesame \"2\" \\"

macdef init
machine macro.example login x password sesame3

machine three.example password machine login default
machine four.example login x
machine five.example login ann account team password sesame5
default login anonymous password sesame6
sesame
END
chmod 600 home/.netrc
from netrc
secrets
from netrc --remove
cat home/.netrc; stat -c %a home/.netrc
for text in 'sesame machine a.example password sesame machine b.example user sesame machine' 'machine c.example login' \
    'machine d.example password "sesame' 'macdef x' $'machine e.example login x password #sesame # more\nmachine f.example login y password macdef'; do
    echo "$text" >odd
    from netrc odd
done
empty

title "netrc: values on the line after their words, which begin with the sign of a comment"
printf 'machine a.example login u password\n#sesame\nmachine b.example login\n  #ann password #sesame2 # sesame\n# sesame\nmachine c.example password sesame3\n' >next
from netrc next
secrets
from netrc next --remove
cat next
empty

title "the entries of Emacs, which have ports: they stay, because the item has none"
printf 'machine a.example login u port 587 password sesame\nmachine b.example port imap login v password port\n' >authinfo
from netrc authinfo
from netrc authinfo --remove
cat authinfo
empty

title "docker"
mkdir -p home/.docker
cat >home/.docker/config.json <<END
{
  "auths": {
    "https://index.docker.io/v1/": { "auth": "$(printf 'ann:sesame:1' | base64)", "email": "a@b" },
    "registry.example": {"auth":"","identitytoken":"sesame\u00e92"},
    "helped.example": {},
    "bad.example": {"auth": "sesame3!"},
    "last.example": {"auth": "$(printf 'bob:sesame4' | base64)"}
  },
  "psFormat": "table"
}
END
from docker
secrets
from docker --remove
cat home/.docker/config.json
printf '{"auths":{"one.example":{"auth":"%s"}},"x":1}' "$(printf ann:sesame | base64)" >one.json
from docker one.json --remove
cat one.json && echo
printf '{"auths":{"two.example":{"username":"ann","password":"sesame5"},"odd.example":5}}' >two.json
from docker two.json --remove
cat two.json && echo
secrets | grep two
printf '\xef\xbb\xbf{"auths":{"mark.example":{"auth":"%s"}}}' "$(printf ann:sesame | base64)" >mark.json
from docker mark.json --remove
cat mark.json && echo
for text in 'sesame' '{"auths":{}' '[]' '{"auths":{},"auths":{"a":{}}}' '{"auths":{"a":{"auth":"c2VzYW1l"},"b":{"auth":1},"c":{"auth":"\u12"}}}'; do
    printf '%s' "$text" >bad.json
    from docker bad.json
done
python3 -c 'print("[" * 100000)' >bad.json
from docker bad.json
empty

title "Python's plain file"
mkdir -p home/.local/share/python_keyring
cat >home/.local/share/python_keyring/keyring_pass.cfg <<END
before = sesame
[example_2Ecom]
ann = 
	$(printf sesame1 | base64)
a_20b = $(printf sesame2 | base64)
bad = sesame!
[_C3_A4]
x = 
	c2Vz
	YW1lMw==
END
from python-keyring
secrets
from python-keyring --remove
cat home/.local/share/python_keyring/keyring_pass.cfg
empty

title "keepassxc-csv"
cat >export.csv <<'END'
"Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created"
"Root","One","ann","sesame ""1"", with
a line","https://one.example","","","0","2024-01-01","2024-01-01"
"Root","Two","","sesame2","","notes","","0","2024-01-01","2024-01-01"
"Root","","bob","sesame3","","","","0","2024-01-01","2024-01-01"
"Root","Four"
"Root","Five","eve","sesame5","","","","0","2024-01-01","2024-01-01"
END
from keepassxc-csv
from keepassxc-csv export.csv --remove
secrets
cat export.csv
printf 'a,b\n' >bad.csv
from keepassxc-csv bad.csv
printf '"sesame' >bad.csv
from keepassxc-csv bad.csv
empty

title "bitwarden-json"
cat >export.json <<'END'
{"encrypted": false, "folders": [], "items": [
  {"type": 1, "name": "One", "notes": null, "login": {"username": "ann", "password": "sesame\ud83d\ude001", "totp": null, "uris": [{"match": null, "uri": "https://one.example"}]}},
  {"type": 2, "name": "Note", "notes": "sesame"},
  {"type": 1, "name": "Three", "notes": "sesame", "login": {"username": null, "password": "sesame3", "totp": null}},
  {"type": 1, "login": {"username": "x", "password": "sesame"}},
  {"type": 1, "name": "Four", "login": {"username": "x", "password": null}},
  {"type": 1, "name": "Five", "login": {"username": "eve", "password": "sesame5"}}
]}
END
from bitwarden-json export.json --remove
secrets
cat export.json
printf '{"encrypted": true, "data": "sesame"}' >bad.json
from bitwarden-json bad.json
printf '{"encrypted": true, "items": [{"name": "2.a|b|c", "login": {"username": "2.u|v|w", "password": "2.sesame|x|y"}}]}' >bad.json
from bitwarden-json bad.json --remove
cat bad.json && echo
from bitwarden-json one.json
printf '{"items":[{"name":"Six","login":{"username":6,"password":"sesame6"}},{"name":"Seven","login":{"username":"\\ud800","password":"sesame7"}}]}' >bad.json
from bitwarden-json bad.json
empty

title "arguments and files"
run import
run import --dry-run backup
run import --from sesame file
run import --from docker --stdin
from netrc none
from netrc home
ln -s home/.git-credentials link
printf 'https://ann:sesame@link.example\n' >home/.git-credentials
from git-credentials link --remove
stat -c %F link home/.git-credentials
head -c 17000000 /dev/zero >long
from netrc long
(unset HOME; run import --from netrc "$WORK/none")

title "of two entries with one name the first counts"
printf 'machine a.example login ann password sesame1\nmachine a.example login ann password sesame2\n' >twice
from netrc twice --replace --dry-run
from netrc twice --replace --remove
cat twice
run load a.example ann

title "a locked vault: nothing is counted, nothing is removed"
printf 'https://ann:sesame@locked.example\n' >home/.git-credentials
run password set --stdin <<<horse
run lock
from git-credentials --remove
cat home/.git-credentials
