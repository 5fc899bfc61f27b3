"""dbus-broker as the session's bus, without its launcher, which needs systemd: the test itself is the broker's controller."""
import array
import socket
import subprocess

from jeepney import DBusAddress, MessageType, Parser, new_method_call
from jeepney.auth import BEGIN, Authenticator

from patience import PATIENCE

EVERYBODY = (1 << 32) - 1
_SENDING = "(btssssuutt)"
_RULES = f"bta(btbs)a{_SENDING}a{_SENDING}"
POLICY = f"(a(u({_RULES}))a(buu({_RULES}))a(ss)bs)"


def policy():
    """Everybody may connect, own each name, send and receive everything."""
    anything = [(True, 1, "", "", "", "", 0, 0, 0, (1 << 64) - 1)]
    return ([(EVERYBODY, (True, 1, [(True, 1, True, "")], anything, anything))], [], [], False, "session")


class DBusBroker:
    """A dbus-broker of a test's own, which listens at `path`. It starts no services."""

    def __init__(self, path):
        self.address = f"unix:path={path}"
        ours, theirs = socket.socketpair()
        log, theirs_log = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with theirs, theirs_log:
            self.process = subprocess.Popen(
                ["dbus-broker", "--controller", str(theirs.fileno()), "--log", str(theirs_log.fileno()), "--machine-id", "0" * 31 + "1",
                 "--max-bytes", "1000000000", "--max-fds", "10000", "--max-matches", "100000", "--max-objects", "100000"],
                pass_fds=[theirs.fileno(), theirs_log.fileno()], stderr=subprocess.DEVNULL)
        self.log = log
        authenticator = Authenticator(enable_fds=True)
        ours.settimeout(PATIENCE)
        for request in authenticator:
            ours.sendall(request)
            authenticator.feed(ours.recv(1024))
        ours.sendall(BEGIN)
        listener = socket.socket(socket.AF_UNIX)
        listener.setblocking(False)
        listener.bind(path)
        listener.listen(128)
        call = new_method_call(
            DBusAddress("/org/bus1/DBus/Broker", "org.bus1.DBus.Broker", "org.bus1.DBus.Broker"), "AddListener", "ohv",
            ("/org/bus1/DBus/Listener/0", listener, (POLICY, policy())))
        descriptors = array.array("i")
        socket.send_fds(ours, [call.serialise(1, fds=descriptors)], descriptors)
        listener.close()
        parser, reply = Parser(), None
        while reply is None:
            parser.add_data(ours.recv(4096))
            reply = parser.get_next_message()
        assert reply.header.message_type == MessageType.method_return, reply
        # The broker lives as long as its controller.
        self.controller = ours

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.controller.close()
        self.log.close()
