"""terraform, kubernetes, AWS, Bazel, and programs that want one token."""
import base64
import json
import os
import ssl
import stat

from servers import container_registry
from world import cases, has, same

HOST = "app.example.com"
PEM = """-----BEGIN CERTIFICATE-----
MIIB
-----END CERTIFICATE-----
-----BEGIN EC PRIVATE KEY-----
MHcC
-----END EC PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIC
-----END CERTIFICATE-----
"""


def run(world, protocol, *words, **more):
    return world.run("tokenkeep-credential", protocol, *words, **more)


def a_protocol_must_be_named(world):
    has(world.run("tokenkeep-credential", code=2).err, "no protocol is named; one of git, docker, cargo, terraform")
    has(world.run("tokenkeep-credential", "--help").out, "usage: tokenkeep-credential [OPTIONS] PROTOCOL")
    has(world.run("git-credential-tokenkeep", "--version").out, "tokenkeep-credential ")
    has(run(world, "frob", code=2).err, "there is no protocol frob; one of git, docker")


# terraform


def terraform_keeps_and_forgets(world):
    helper = "terraform-credentials-tokenkeep"
    same(world.run(helper, "get", HOST).out, "{}\n")
    world.run(helper, "store", HOST, input='{"token":"t"}')
    same(world.run(helper, "--namespace=", "get", HOST).out, '{"token":"t"}\n')
    world.run(helper, "forget", HOST)
    world.run(helper, "forget", HOST)
    same(world.services(), set())
    world.save(f"terraform:{HOST}", "", "t", "--expires", "2001-01-01")
    has(world.run(helper, "get", HOST, code=6).err, f"expired at 2001-01-01T00:00:00Z; sign in again: terraform login {HOST}")
    for request in ('{"token":"t","more":1}', "{}"):
        has(world.run(helper, "store", HOST, input=request, code=4).err, "terraform's credentials are not a token alone")
    for token, message in (("", "the token is empty"), ("two\\nlines", "the token is not one line of text")):
        told = world.run(helper, "store", HOST, input=f'{{"token":"{token}"}}', code=2)
        has(told.err, message)
    has(world.run(helper, "frob", HOST, code=2).err, "terraform's helper has no operation frob")
    has(world.run(helper, "get", code=2).err, "the host is missing")


def terraform_itself_signs_out(world):
    os.makedirs(world.path("home/.terraform.d/plugins"))
    os.symlink(f"{world.bin}/terraform-credentials-tokenkeep",
               world.path("home/.terraform.d/plugins/terraform-credentials-tokenkeep"))
    world.write("home/.terraformrc", 'credentials_helper "tokenkeep" {\n  args = ["--namespace", "work"]\n}\n')
    world.save(f"terraform:{HOST}", "", "t", "--namespace", "work")
    world.run("terraform", "logout", HOST, env={"CHECKPOINT_DISABLE": "1"})
    has(world.run("tokenkeep", "load", f"terraform:{HOST}", "", "--namespace", "work", code=1).err, f"terraform:{HOST}")


# kubernetes


def credential(world, *words, version="v1", spec=None, **more):
    info = {"apiVersion": f"client.authentication.k8s.io/{version}", "kind": "ExecCredential", "spec": spec or {}}
    return run(world, "kubernetes", *words, env={"KUBERNETES_EXEC_INFO": json.dumps(info)}, **more)


def kubernetes_gets_a_token_with_its_expiry(world):
    world.save("kubernetes:prod", "", "t", "--expires", "@32503680000")
    for version in ("v1", "v1beta1"):
        answer = json.loads(credential(world, "prod", version=version).out)
        same(answer["apiVersion"], f"client.authentication.k8s.io/{version}")
        same(answer["status"], {"token": "t", "expirationTimestamp": "3000-01-01T00:00:00Z"})
    same(json.loads(run(world, "kubernetes", "prod").out)["kind"], "ExecCredential")


def kubernetes_gets_a_certificate_with_its_key(world):
    world.save("kubernetes:https://k8s.example.com", "", PEM)
    spec = {"cluster": {"server": "https://k8s.example.com"}, "interactive": False}
    status = json.loads(credential(world, spec=spec).out)["status"]
    same(status["clientKeyData"], "".join(PEM.splitlines(True)[3:6]))
    same(status["clientCertificateData"], "".join(PEM.splitlines(True)[:3] + PEM.splitlines(True)[6:]))


def kubernetes_finds_the_blocks_among_other_text(world):
    blocks = PEM.splitlines(True)
    text = ["Certificate:\n", "    Version: 3\n", *blocks[:3], "the key\n", *blocks[3:6], *blocks[6:], "end"]
    world.save("kubernetes:prod", "", "".join(text))
    status = json.loads(run(world, "kubernetes", "prod").out)["status"]
    same(status["clientKeyData"], "".join(blocks[3:6]))
    same(status["clientCertificateData"], "".join(blocks[:3] + blocks[6:]))
    world.save("kubernetes:prod", "", "".join(blocks[:3]).rstrip("\n") + "".join(blocks[3:6]))
    has(run(world, "kubernetes", "prod", code=7).err, "a block of the PEM text begins in the line in which another ends", "put a line feed between")


def kubernetes_is_told_what_is_missing(world):
    has(run(world, "kubernetes", code=2).err, "no cluster is named")
    has(run(world, "kubernetes", "prod", code=1).err, "no credential of kubernetes:prod is kept")
    # The command that helps can be pasted.
    has(run(world, "kubernetes", "a b'$(c)", code=1).err, "tokenkeep save 'kubernetes:a b'\\''$(c)' ''\n")
    has(run(world, "kubernetes", "prod", env={"KUBERNETES_EXEC_INFO": "{"}, code=2).err,
        "KUBERNETES_EXEC_INFO is not one JSON object with each member once")
    world.save("kubernetes:prod", "", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    has(run(world, "kubernetes", "prod", code=7).err, "the PEM text does not have one private key and a certificate")
    world.save("kubernetes:prod", "", "t", "--expires", "2001-01-01")
    has(run(world, "kubernetes", "prod", code=6).err, "kubernetes:prod expired at 2001-01-01T00:00:00Z")
    world.save("kubernetes:prod", "", "t")
    has(credential(world, "prod", version="v1alpha1", code=4).err,
        "the client wants another version than v1 and v1beta1 of ExecCredential")


KUBERC = """apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
credentialPluginPolicy: Allowlist
credentialPluginAllowlist:
  - {}: {}
"""


def kubectl_sends_the_token(world):
    certificate, key = world.path("cert.pem"), world.path("key.pem")
    world.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout", key,
              "-out", certificate, "-addext", "subjectAltName=IP:127.0.0.1")
    with container_registry() as api:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        api.http.socket = context.wrap_socket(api.http.socket, server_side=True)
        api.tokens.add("s3cret")
        world.save("kubernetes:prod", "", "s3cret")
        world.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": f"https://127.0.0.1:{api.port}", "certificate-authority": certificate}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "kubectl-tokenkeep", "args": ["prod"],
                "interactiveMode": "IfAvailable"}}}]}))
        get = ["kubectl", "--kubeconfig", world.path("kubeconfig"), "get", "--raw", "/version"]
        world.run(*get)
        has("\n".join(api.requests), "GET /version")
        # kuberc's list of plugins, which kubectl knows from 1.35 on.
        version = json.loads(world.run("kubectl", "version", "--client", "-o", "json").out)["clientVersion"]
        name = "command" if int(version["minor"].rstrip("+")) > 35 else "name"
        for plugin, code in (("kubectl-tokenkeep", 0), ("another", 1)):
            world.write("home/.kube/kuberc", KUBERC.format(name, plugin))
            told = world.run(*get, code=code if int(version["minor"].rstrip("+")) > 34 else 0)
            assert "s3cret" not in told.out + told.err, told.err


# AWS


def aws_gets_its_keys(world):
    world.save("aws:default", "AKIDEXAMPLE", "secret\nsession\n", "--expires", "@32503680000")
    same(json.loads(run(world, "aws", "default").out), {
        "Version": 1, "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "secret", "SessionToken": "session",
        "Expiration": "3000-01-01T00:00:00Z"})
    world.save("aws:default", "AKIDEXAMPLE", "secret")
    same(json.loads(run(world, "aws").out),
         {"Version": 1, "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "secret"})
    has(run(world, "aws", "other", code=1).err, "no access key of aws:other is kept")
    has(run(world, "aws", "my own", code=1).err, "tokenkeep save 'aws:my own' ACCESS_KEY_ID\n")
    for account, secret in (("AKID", "a\nb\nc\n"), ("AKID", "\nb"), ("", "a")):
        world.save("aws:odd", account, secret)
        title = f"aws:odd ({account})" if account else "aws:odd"
        has(run(world, "aws", "odd", code=2).err, f"the item {title} is no access key")
        world.run("tokenkeep", "clear", "aws:odd", account)


def aws_itself_asks(world):
    world.save("aws:default", "AKIDEXAMPLE", "secret")
    world.write("home/.aws/config", "[profile p]\ncredential_process = tokenkeep-credential aws default\n")
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    told = world.run("aws", "configure", "list", "--profile", "p",
                     env={"AWS_CONFIG_FILE": world.path("home/.aws/config"), "PYENV_ROOT": pyenv})
    has(told.out, "custom-process", "MPLE")


# Bazel


def bazel_gets_headers(world):
    def ask(uri, **more):
        return run(world, "bazel", "get", input=json.dumps({"uri": uri}), **more)

    same(ask("https://cache.example.com/x").out, '{"headers":{}}\n')
    world.save("https://cache.example.com", "", "t", "--expires", "@32503680000")
    same(json.loads(ask("HTTPS://Cache.Example.com/x?y").out),
         {"headers": {"Authorization": ["Bearer t"]}, "expires": "3000-01-01T00:00:00Z"})
    world.save("https://pypi.example.com:8443", "ann", "p\u00e9")
    basic = base64.b64encode("ann:p\u00e9".encode()).decode()
    same(json.loads(ask("https://ann@pypi.example.com:8443/simple").out), {"headers": {"Authorization": [f"Basic {basic}"]}})
    world.save("https://pypi.example.com:8443", "ann", "t", "--attribute", "authorization=bearer")
    same(json.loads(ask("https://pypi.example.com:8443/").out), {"headers": {"Authorization": ["Bearer t"]}})
    world.save("https://pypi.example.com:8443", "ann", "t", "--attribute", "authorization=digest")
    has(ask("https://pypi.example.com:8443/", code=2).err,
        "the attribute authorization of https://pypi.example.com:8443 (ann) is neither basic nor bearer")
    world.save("https://old.example.com", "", "t", "--expires", "2001-01-01")
    has(ask("https://old.example.com/", code=6).err, "save a new one: tokenkeep save https://old.example.com ''\n")
    world.save("https://older.example.com", "a b", "t", "--expires", "2001-01-01")
    has(ask("https://older.example.com/", code=6).err, "tokenkeep save https://older.example.com 'a b'\n")
    world.save("https://b.example.com", "", b"\xff")
    has(ask("https://b.example.com/", code=2).err, "a string of JSON is not UTF-8")
    for uri in ("cache.example.com", "https://", "https://a b/", "://x", "1 2://x"):
        has(ask(uri, code=2).err, "the uri has not the form SCHEME://HOST")
    has(run(world, "bazel", "get", input="{}", code=2).err, "the request has no uri")
    has(run(world, "bazel", "set", code=2).err, "Bazel's helper has no operation set")


# Programs that want one token


def a_token_is_printed_for_a_reference(world):
    world.save("a/b@c", "ann", "t", "--namespace", "work")
    same(run(world, "token", "tokenkeep://work@a%2Fb%40c/ann").out, "t\n")
    has(run(world, "token", "tokenkeep://none/", code=1).err, "none is not there")
    world.save("e", "", "t", "--expires", "2001-01-01")
    has(run(world, "token", "tokenkeep://e/", code=6).err, "expired at")
    has(run(world, "token", code=2).err, "the reference is missing")
    for reference in ("https://a/b", "tokenkeep://a", "tokenkeep://a/b/c", "tokenkeep://a%2/b", "tokenkeep://a%ff/b"):
        has(run(world, "token", reference, code=2).err, "the argument is no reference to an item")
    has(run(world, "token", "tokenkeep:///b", code=2).err, "the service is empty")


def a_helper_link_prints_its_token(world):
    world.save("npm.example.com", "ann", "t'1")
    world.save("work.example.com", "", "t2", "--namespace", "work")
    path = world.path("my helper")
    world.run("tokenkeep", "helper-link", path, "tokenkeep://npm.example.com/ann")
    same(stat.S_IMODE(os.stat(path).st_mode), 0o755)
    same(world.run(path).out, "t'1\n")
    has(world.run("tokenkeep", "helper-link", path, "tokenkeep://x/y", code=6).err, "exists already")
    world.run("tokenkeep", "helper-link", world.path("second"), "tokenkeep://work@work.example.com/")
    same(world.run(world.path("second"), env={"PATH": "/usr/bin:/bin"}).out, "t2\n")
    has(world.run("tokenkeep", "helper-link", world.path("third"), "x", code=2).err,
        "the argument is no reference to an item")
    assert not os.path.exists(world.path("third"))
    has(world.run("tokenkeep", "helper-link", world.path("no/such/program"), "tokenkeep://x/y", code=2).err,
        f"cannot be written: there is no folder {world.path('no/such')}\nhint: mkdir -p {world.path('no/such')}\n")


terraform_itself_signs_out.needs = ["terraform"]
kubectl_sends_the_token.needs = ["kubectl", "openssl"]
aws_itself_asks.needs = ["aws"]
CASES = cases(globals(), run, credential, container_registry, has, same)
