import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// Waits for the events after which `session keep` checks its sessions: changes of sessions, of modules (for example an
/// unlocked keyring), and of the machine's network.
struct KeeperWakes: ~Copyable {
    /// The events that occurred before or during a wait.
    struct Wake {
        let changes: SessionChanges
        /// Whether a keyring may have been unlocked, or the network may have returned.
        let mayHelp: Bool
    }

    /// The pause, in milliseconds, after an event of the network, because a returning network has no route yet at its
    /// first event.
    private static let networkPause: UInt32 = 1000

    private let sessions: SessionsWatch
    /// A watch for changes of items; nil if no module reports changes.
    private let places: StoreWatch?
    /// A netlink socket; -1 if the kernel refuses to open one.
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

    /// Waits for an event for at most `milliseconds`, and returns the events so far. The time in which the machine is
    /// suspended counts.
    func next(within milliseconds: UInt32) throws(TokenKeepError) -> Wake {
        _ = tokenkeep_wait_readable(sessions.descriptor, either, milliseconds)
        let hasNetwork = NetworkWatch.drain(network)
        if hasNetwork { _ = tokenkeep_wait_readable(-1, -1, KeeperWakes.networkPause) }
        let hasPlace = drainPlaces()
        return Wake(changes: try sessions.changes(), mayHelp: hasNetwork || hasPlace)
    }

    /// Reads and discards the changes that modules have reported. Returns whether a module had reported a change.
    private func drainPlaces() -> Bool {
        guard let places else { return false }
        var poller = pollfd(fd: places.descriptor, events: Int16(POLLIN), revents: 0)
        let isReadable = poll(&poller, 1, 0) > 0
        while (try? places.next()) != nil {}
        return isReadable
    }
}
