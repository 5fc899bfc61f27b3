import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// The events after which `session keep` looks at its sessions: changes of sessions, of places (an unlocked keyring), and
/// of the machine's network.
struct KeeperWakes: ~Copyable {
    /// A network that comes back has no route at its first event, in milliseconds.
    private static let settling: UInt32 = 1000

    private let sessions: SessionsWatch
    /// nil if no place tells of changes.
    private let places: StoreWatch?
    /// A netlink socket; -1 if the kernel gives none.
    private let network: Int32
    private let either: Int32

    init(_ store: Store, service: String?) throws(TokenKeepError) {
        sessions = try SessionsWatch(store, service: service)
        places = try? StoreWatch(store, service: Outbox.service)
        network = NetworkWatch.open()
        either =
            if network < 0 || places == nil {
                dup(places?.descriptor ?? network)
            } else {
                tokenkeep_either_open(network, places?.descriptor ?? -1)
            }
    }

    deinit {
        if network >= 0 { close(network) }
        if either >= 0 { close(either) }
    }

    /// Forgets the events so far.
    func drain() throws(TokenKeepError) {
        while try sessions.next() != nil {}
        while (try? places?.next()) != nil {}
        _ = NetworkWatch.drain(network)
    }

    /// Waits for an event, or so long. The clock goes on during a suspension.
    func wait(milliseconds: UInt32) {
        _ = tokenkeep_wait_readable(sessions.descriptor, either, milliseconds)
        if NetworkWatch.drain(network) { _ = tokenkeep_wait_readable(-1, -1, KeeperWakes.settling) }
    }
}
