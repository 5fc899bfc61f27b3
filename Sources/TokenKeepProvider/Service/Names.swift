import CSystemdBus
import TokenKeepCore
import TokenKeepKeys

/// The names that the program owns, and the other keyrings of the user.
extension Provider {
    /// Names that keyrings own. gnome-keyring asks for the service's name right after its own, and never takes it.
    private static let keyrings: Set<String> = [
        "org.gnome.keyring", "org.kde.kwalletd5", "org.kde.kwalletd6", "org.kde.secretservicecompat",
    ]
    /// The time between a keyring's own name and its request for the service's name, in milliseconds.
    private static let queueing: UInt32 = 50

    /// Notes that a name on the bus has another owner.
    func nameChanged(_ name: String, _ owner: String) {
        guard !owner.isEmpty, owner != bus.uniqueName else { return }
        if name == Provider.name || name == Provider.ownName {
            leave("\(caller(of: owner)) took \(name)")
        } else if Provider.keyrings.contains(name) {
            lookForOthers()
            timers.after(Provider.queueing) { [self] in lookForOthers() }
            timers.after(Provider.queueing * 10) { [self] in lookForOthers() }
        }
    }

    /// Looks for other keyrings after the present message.
    func lookForOthersSoon() {
        guard !looksForOthers else { return }
        looksForOthers = true
        timers.after(0) { [self] in
            looksForOthers = false
            lookForOthers()
        }
    }

    /// Gives the name back if another program waits for it.
    private func lookForOthers() {
        guard !isLeaving, let queue = bus.names("ListQueuedOwners", of: Provider.name),
            let other = queue.first(where: { $0 != bus.uniqueName })
        else { return }
        leave("\(caller(of: other)) waits for \(Provider.name)")
    }

    /// Gives the names back. The program ends after the calls in flight.
    ///
    /// - Parameter reason: written to the log, if not empty.
    func leave(_ reason: String) {
        guard !isLeaving else { return }
        if !reason.isEmpty { Log.line("\(reason): the name is given back") }
        isLeaving = true
        for path in prompts.keys.sorted() { complete(path, isDismissed: true) }
        for input in inputs.values { input.end() }
        for name in [Provider.name, Provider.ownName] { sd_bus_release_name(bus.raw, name) }
    }

    /// Owns the name by which stores recognise their own vault, also while this program does not answer.
    func claimName(ofVault identifier: [UInt8]) {
        let name = ProviderName.ofVault(Hexadecimal.text(identifier))
        guard name != vaultName else { return }
        // Without a callback, sd-bus closes the connection if the name is not to be had.
        if let vaultName { sd_bus_release_name_async(bus.raw, nil, vaultName, { _, _, _ in 1 }, nil) }
        if let name { sd_bus_request_name_async(bus.raw, nil, name, 0, { _, _, _ in 1 }, nil) }
        vaultName = name
    }
}
