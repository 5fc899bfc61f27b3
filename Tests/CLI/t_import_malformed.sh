# Files of other programs that end early or have other bytes: no crash, and no byte of them in a message.
cat >feed.py <<'PYTHON'
import base64, collections, random, subprocess, sys
program = sys.argv[1]
auth = base64.b64encode(b"ann:sesame").decode()
FILES = {
    "netrc": b'machine a.example login ann password "sesame \\" x"\n\nmacdef m\nsesame\n\nmachine b.example login b password sesame\n',
    "git-credentials": b"https://ann:sesame%40@a.example\nhttps://b:sesame@b.example/path\n",
    "docker": b'{"auths": {"a": {"auth": "%s"}, "b": {"identitytoken": "sesame\\u00e9\\ud83d\\ude00"}}, "x": [1.5e3, null]}' % auth.encode(),
    "python-keyring": b"[a_2Eexample]\nann = \n\tc2VzYW1l\nb = c2Vz\n\tYW1l\n",
    "keepassxc-csv": b'"Title","Username","Password","URL"\r\n"a","ann","sesame, ""x""\r\n","u"\r\n"b","","sesame",""\r\n',
    "bitwarden-json": b'{"encrypted": false, "items": [{"name": "a", "login": {"username": "ann", "password": "sesame", "uris": [{"uri": "u"}]}}]}',
}
random.seed(int(sys.argv[2]))
codes = collections.Counter()
for format, whole in FILES.items():
    inputs = [whole[:end] for end in range(0, len(whole), 4)]
    for _ in range(30):
        changed = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            changed[random.randrange(len(changed))] = random.choice(b'"\\{}[],:%=\n\r\0\xff@/ \tu')
        inputs.append(bytes(changed))
    inputs.append(random.randbytes(5000))
    for content in inputs:
        with open("fed", "wb") as file:
            file.write(content)
        ended = subprocess.run([program, "import", "--from", format, "fed", "--dry-run", "--remove"], capture_output=True, check=False)
        codes[ended.returncode] += 1
        assert ended.returncode in (0, 7), (format, content, ended)
        assert b"sesam" not in ended.stdout + ended.stderr.replace(b"sesame.", b""), (format, content, ended)
        with open("fed", "rb") as file:
            assert file.read() == content
print("both codes" if len(codes) == 2 else codes)
PYTHON
python3 feed.py "$TOKENKEEP" 1
