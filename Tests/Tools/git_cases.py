"""git's helper, by the real git."""
from world import cases, has, same

HOST = "protocol=https\nhost=example.com\n"
ANN = HOST + "username=ann\n"
SERVICE = "git:https://example.com"


def git(world, operation, text, **options):
    return world.run("git", "credential", operation, input=text + "\n", **options)


def ask(world, text, *options, **more):
    return world.run("git-credential-tokenkeep", *options, "get", input=text, **more)


def tell(world, operation, text, *options, **more):
    return world.run("git-credential-tokenkeep", *options, operation, input=text, **more)


def use(world):
    world.write("home/.gitconfig", "[credential]\n\thelper = tokenkeep\n[user]\n\tname = ann\n\temail = ann@example.com\n")


def an_empty_password_changes_no_other(world):
    use(world)
    tell(world, "store", ANN + "password=s3cret\n")
    # git asks with the empty password of an address such as https://ann:@example.com, and the server refuses it.
    for refused in ("password=\n", "authtype=Bearer\n"):
        tell(world, "erase", ANN + refused)
        same(world.load(SERVICE, "ann"), "s3cret")
    tell(world, "erase", HOST + "password=\n")
    same(world.load(SERVICE, "ann"), "s3cret")
    # git approves it, too, if the server has not asked for a password.
    for stored in (ANN, HOST + "username=token\n", HOST + "username=\n"):
        git(world, "approve", stored + "password=\n")
    same((world.services(), world.load(SERVICE, "ann")), ({(SERVICE, "ann")}, "s3cret"))


def doctor_names_the_file_of_a_setting(world):
    world.write("home/.gitconfig", "[include]\n\tpath = ~/inc\n")
    world.write("home/inc", '[credential "https://g.example"]\n\thelper = store\n')
    hint = f"git config --unset-all --file {world.path('home/inc')} credential.https://g.example.helper"
    has(world.run("tokenkeep", "doctor", code=None).out, hint)
    world.run(*hint.split())
    assert "g.example" not in world.run("tokenkeep", "doctor", code=None).out


def git_fills_what_it_approved(world):
    use(world)
    git(world, "approve", ANN + "password=s3cret\n")
    has(git(world, "fill", HOST).out, "username=ann\n", "password=s3cret\n")
    same(world.load(SERVICE, "ann"), "s3cret")


def a_call_without_an_operation_says_so(world):
    has(world.run("git-credential-tokenkeep", code=2).err, "tokenkeep: the operation is missing\n")
    same(tell(world, "an-operation-of-later", ANN).out, "")


def git_erases_only_the_refused_password(world):
    use(world)
    git(world, "approve", ANN + "password=new\n")
    git(world, "reject", ANN + "password=old\n")
    same(world.load(SERVICE, "ann"), "new")
    git(world, "reject", ANN + "password=new\n")
    same(world.services(), set())


def a_wrong_password_without_an_account_does_not_come_back(world):
    world.save(SERVICE, "", "wrong")
    has(ask(world, ANN[: len(HOST)]).out, "password=wrong\n")
    tell(world, "erase", ANN + "password=wrong\n")
    same(world.services(), set())


def expiry_and_refresh_token_are_kept_and_returned(world):
    text = ANN + "password=p\npassword_expiry_utc=32503680000\noauth_refresh_token=r\n"
    tell(world, "store", text)
    answer = "username=ann\npassword=p\npassword_expiry_utc=32503680000\noauth_refresh_token=r\n"
    same(ask(world, HOST).out, answer)
    # git before 2.41 stores less than it was given.
    before = world.version(SERVICE, "ann")
    tell(world, "store", ANN + "password=p\n")
    same(world.version(SERVICE, "ann"), before)
    same(ask(world, HOST).out, answer)


def an_expired_password_is_returned_with_its_expiry(world):
    tell(world, "store", ANN + "password=p\npassword_expiry_utc=1000000000\noauth_refresh_token=r\n")
    has(ask(world, HOST).out, "password_expiry_utc=1000000000\noauth_refresh_token=r\n")


def a_store_of_the_same_writes_nothing(world):
    tell(world, "store", ANN + "password=p\n")
    before = world.version(SERVICE, "ann")
    tell(world, "store", ANN + "password=p\n")
    same(world.version(SERVICE, "ann"), before)


def the_newest_of_a_host_is_the_last_stored_also_within_a_second(world):
    accounts = ["mia", "zoe", "ann", "lea", "bob"]
    for account in accounts:
        tell(world, "store", HOST + f"username={account}\npassword=p\n")
        has(ask(world, HOST).out, f"username={account}\n")
    # An account that is stored again, with a new password, is the newest again; with the same one, nothing is written.
    tell(world, "store", HOST + "username=zoe\npassword=new\n")
    has(ask(world, HOST).out, "username=zoe\n")
    before = world.version(SERVICE, "zoe")
    tell(world, "store", HOST + "username=zoe\npassword=new\n")
    same(world.version(SERVICE, "zoe"), before)


def types_are_answered_where_they_were_announced(world):
    knows = "capability[]=authtype\ncapability[]=state\n"
    tell(world, "store", knows + HOST + "authtype=Bearer\ncredential=abc\n")
    same(ask(world, HOST).out, "")
    answer = ask(world, knows + HOST).out
    has(answer, "capability[]=authtype\ncapability[]=state\nauthtype=Bearer\ncredential=abc\n", "state[]=tokenkeep:")
    # Without a credential, the state names the version that was refused.
    tell(world, "erase", knows + HOST + "state[]=tokenkeep:1\n")
    same(world.services(), {(SERVICE, "")})
    tell(world, "erase", knows + HOST + answer[answer.index("state[]") :])
    same(world.services(), set())


def an_ephemeral_credential_is_not_stored(world):
    tell(world, "store", "capability[]=authtype\n" + HOST + "authtype=Bearer\ncredential=abc\nephemeral=1\n")
    tell(world, "store", HOST + "authtype=Bearer\ncredential=abc\n")
    same(world.services(), set())


def an_empty_list_drops_what_came_before(world):
    tell(world, "store", "capability[]=authtype\ncapability[]=\n" + HOST + "authtype=Bearer\ncredential=abc\n")
    same(world.services(), set())


def capabilities_are_told(world):
    same(tell(world, "capability", "").out, "version 0\ncapability authtype\ncapability state\n")


def unknown_operations_and_keys_are_passed_over(world):
    same(tell(world, "frobnicate", "nonsense").out, "")
    request = (ANN + "wwwauth[]=Basic\nnew-key=x\n").encode() + b"\xff=1\npassword=p\n"
    tell(world, "store", request)
    same(world.load(SERVICE, "ann"), "p")


def accounts_and_paths_are_told_apart(world):
    tell(world, "store", ANN + "password=a\n")
    tell(world, "store", HOST + "path=org/repo.git\nusername=bob\npassword=b\n")
    same(ask(world, HOST + "username=bob\n").out, "")
    same(ask(world, HOST).out, "username=ann\npassword=a\n")
    same(ask(world, HOST + "path=org/repo.git\n").out, "username=bob\npassword=b\n")
    same(ask(world, "protocol=http\nhost=example.com\n").out, "")


def the_password_of_a_certificate_has_no_host(world):
    cert = "protocol=cert\nhost=\npath=/home/ann/cert.pem\nusername=\n"
    tell(world, "store", cert + "password=p\n")
    same(ask(world, cert).out, "password=p\n")
    same(world.services(), {("git:cert:///home/ann/cert.pem", "")})


def a_long_line_is_read_and_a_longer_one_refused(world):
    longest = "x" * (65_535 - len("password=\n"))
    tell(world, "store", ANN + f"password={longest}\n")
    same(world.load(SERVICE, "ann"), longest)
    refused = tell(world, "store", ANN + f"password={longest}x\n", code=2)
    has(refused.err, "a line of the request is longer than 65535 bytes")


def what_cannot_be_a_request_is_refused(world):
    for text, message in [
        (HOST + "username=a\rb\n", "a line of the request has a NUL or a carriage return"),
        (HOST + "username=a\0b\n", "a line of the request has a NUL or a carriage return"),
        (HOST + "nothing\n", "a line of the request has no key"),
        (HOST + "=value\n", "a line of the request has no key"),
        (HOST + "host=evil.example\n", "the request has two lines host"),
        (HOST + "username=ann", "the request ends within a line"),
        ("protocol=https\nusername=ann\n", "the request names no host"),
        ("protocol=https\nhost=example.com/org\n", "the request's host has a character that no host has"),
        ("protocol=https://evil\nhost=example.com\n", "the request's protocol is not a word"),
        ("host=example.com\n", "the request names no protocol"),
        ("protocol=https\nhost=\n", "the request names no host"),
        (HOST + "path=a\tb\n", "the service contains a control character"),
        (ANN + "password=p\npassword_expiry_utc=soon\n", "the request's password_expiry_utc is no number"),
    ]:
        refused = tell(world, "store" if "password" in text else "get", text, code=2)
        same(refused.out, "")
        has(refused.err, message)
    refused = tell(world, "get", b"protocol=https\nhost=\xff\n", code=2)
    has(refused.err, "the request's host is not UTF-8")


def names_are_not_printed_raw(world):
    refused = ask(world, "protocol=https\nhost=\u202eexample.com\nusername=\x1b[31m\n", code=2)
    assert "\x1b" not in refused.err and "\u202e" not in refused.err, refused.err


def a_secret_of_several_lines_does_not_become_lines(world):
    world.save(SERVICE, "ann", "p\nhost=evil.example")
    refused = ask(world, HOST, code=2)
    same(refused.out, "")
    has(refused.err, f"the secret of {SERVICE} (ann) is not one line of text; save it anew with --strip-newline")
    world.save(SERVICE, "ann", "no lines", "--attribute", "format=git")
    has(ask(world, HOST, code=7).err, f"the item {SERVICE} (ann) does not have git's lines")


def a_password_with_a_control_character_is_got_and_erased(world):
    tell(world, "store", ANN + "password=a\tb\x1bc\n")
    has(ask(world, HOST).out, "password=a\tb\x1bc\n")
    tell(world, "erase", ANN + "password=a\tb\x1bc\n")
    same(ask(world, HOST).out, "")


def a_locked_vault_answers_nothing_and_says_what_helps(world):
    tell(world, "store", ANN + "password=p\n")
    world.lock()
    for operation in ("get", "store", "erase"):
        told = tell(world, operation, ANN + "password=p\n", code=3)
        same(told.out, "")
        same(told.err.count("\n"), 1)
        has(told.err, "locked", "tokenkeep unlock" if "run --" not in told.err else "tokenkeep run")
    same(ask(world, HOST, "--quit-when-locked", code=3).out, "quit=1\n")
    has(ask(world, HOST, "--password-file", world.password).out, "password=p\n")
    world.run("tokenkeep", "lock", code=None)
    has(ask(world, HOST, env={"TOKENKEEP_PASSWORD_FILE": world.password}).out, "password=p\n")


def a_descriptor_gives_the_password(world):
    tell(world, "store", ANN + "password=p\n")
    world.lock()
    command = f"git-credential-tokenkeep --password-fd 7 get 7< {world.password}"
    has(world.run("sh", "-c", command, input=HOST).out, "password=p\n")


def background_maintenance_is_not_disturbed(world):
    use(world)
    tell(world, "store", ANN + "password=p\n")
    world.lock()
    for environment in (
        {"GIT_CONFIG_PARAMETERS": "'core.askpass'='true' 'credential.interactive'='false'"},
        {"GIT_CONFIG_PARAMETERS": "'credential.interactive=never'"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "Credential.Interactive", "GIT_CONFIG_VALUE_0": "no"},
    ):
        told = ask(world, HOST, "--interactive", env=environment)
        same(told.out + told.err, "")
    for text in ("interactive = false", "interactive\n\tinteractive = never"):
        settings = world.read("home/.gitconfig")
        world.write("home/.gitconfig", f"{settings}[credential]\n\t{text}\n")
        for options in (["--interactive"], []):
            told = ask(world, HOST, *options)
            same(told.out + told.err, "")
        # The command line has the last word.
        has(ask(world, HOST, env={"GIT_CONFIG_PARAMETERS": "'credential.interactive'='true'"}, code=3).err, "locked")
        world.write("home/.gitconfig", settings + "[credential]\n\tinteractive\n")
        has(ask(world, HOST, code=3).err, "locked")
        world.write("home/.gitconfig", settings)
    # Without a terminal's prompts, the reason is still told.
    has(ask(world, HOST, "--interactive", env={"GIT_TERMINAL_PROMPT": "0"}, code=3).err, "locked")
    told = world.run("git", "-c", "credential.interactive=false", "-c", "core.askPass=true", "credential", "fill",
                     input=HOST + "\n", code=None)
    assert "tokenkeep" not in told.err, told.err


def wrong_options_are_named(world):
    for options, message in [
        (["--frob", "get"], "there is no option --frob"), (["--stack"], "the option --stack has no value"),
        (["--password-fd", "x"], "--password-fd is not the number of a descriptor"),
    ]:
        has(world.run("git-credential-tokenkeep", *options, code=2).err, message)


def a_namespace_is_kept_apart(world):
    tell(world, "store", ANN + "password=p\n", "--namespace=work")
    same(ask(world, HOST).out, "")
    same(ask(world, HOST, "--namespace", "work").out, "username=ann\npassword=p\n")


CASES = cases(globals(), git, ask, tell, use)
