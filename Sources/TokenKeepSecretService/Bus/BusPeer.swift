import CSystemShims
import Glibc
import TokenKeepCore

/// Checks the user of the process at the other end of a bus's socket, because the bus can read every message.
enum BusPeer {
    /// Throws if the process at the other end of a socket belongs neither to `user` nor to root.
    ///
    /// - Parameter user: the user who, besides root, may run the bus.
    /// - Throws: ``Status/unavailable``. The message contains the peer's user, which is unknown for a TCP socket.
    static func check(_ socket: Int32, user: uid_t = geteuid()) throws(TokenKeepError) {
        var peer = uid_t.max
        guard tokenkeep_socket_peer(socket, &peer) == 0 else {
            throw refused("the message bus does not tell whose it is")
        }
        guard peer == user || peer == 0 else {
            throw refused("the message bus is of user \(peer), neither of user \(user) nor of root")
        }
    }

    private static func refused(_ words: String) -> TokenKeepError {
        TokenKeepError(
            .unavailable, "\(words): nothing is sent to it",
            hint: "let DBUS_SESSION_BUS_ADDRESS name a unix socket of your own session bus")
    }
}
