#!/usr/bin/python3
"""A greeter of greetd: a mistyped password, then the right one. Usage: greeter USER PASSWORD"""

import json, os, socket, struct, sys, time

USER, PASSWORD = sys.argv[1:]
server = socket.socket(socket.AF_UNIX)
server.connect(os.environ["GREETD_SOCK"])


def ask(**request):
    text = json.dumps(request).encode()
    server.sendall(struct.pack("=I", len(text)) + text)
    (length,) = struct.unpack("=I", server.recv(4, socket.MSG_WAITALL))
    return json.loads(server.recv(length, socket.MSG_WAITALL))


def authenticate(password):
    """The type of the last reply: success or error."""
    reply = ask(type="create_session", username=USER)
    while reply["type"] == "auth_message":
        is_secret = reply["auth_message_type"] == "secret"
        reply = ask(type="post_auth_message_response", response=password if is_secret else None)
    return reply["type"]


def main():
    marker = "/tmp/greeted"
    if os.path.exists(marker):
        # The session has ended: greetd has started the greeter again.
        time.sleep(1000)
    open(marker, "w").close()
    assert authenticate("mistyped") == "error"
    ask(type="cancel_session")
    assert authenticate(PASSWORD) == "success"
    assert ask(type="start_session", cmd=["/usr/local/bin/tokenkeep-test-session"], env=[])["type"] == "success"


main()
