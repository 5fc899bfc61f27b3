import CSystemdBus
import TokenKeepCore
import TokenKeepKeys

/// The bus names that the program owns, and the detection of other keyrings.
extension Provider {
    /// The bus names that other keyrings own in addition to the service's name. A new owner of such a name means that a
    /// keyring may next queue for the service's name, as gnome-keyring does.
    private static let keyrings: Set<String> = [
        "org.gnome.keyring", "org.kde.kwalletd5", "org.kde.kwalletd6", "org.kde.secretservicecompat",
    ]
    /// The delay, in milliseconds, after a keyring got its own bus name, before this program checks whether the keyring
    /// is queued for the service's name.
    private static let queueing: UInt32 = 50

    /// Handles a new owner of a bus name: ends the program if its name was taken, and looks for other keyrings.
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

    /// Looks for other keyrings after the present message was handled.
    func lookForOthersSoon() {
        guard !looksForOthers else { return }
        looksForOthers = true
        timers.after(0) { [self] in
            looksForOthers = false
            lookForOthers()
        }
    }

    /// Releases the names if another program is queued for the service's name.
    private func lookForOthers() {
        guard !isLeaving, let queue = bus.names("ListQueuedOwners", of: Provider.name),
            let other = queue.first(where: { $0 != bus.uniqueName })
        else { return }
        leave("\(caller(of: other)) waits for \(Provider.name)")
    }

    /// Releases the names. The program ends after the calls in flight.
    ///
    /// - Parameter reason: the reason for the log; "" logs nothing.
    func leave(_ reason: String) {
        guard !isLeaving else { return }
        if !reason.isEmpty { Log.line("\(reason): the name is given back") }
        isLeaving = true
        for path in prompts.keys.sorted() { complete(path, isDismissed: true) }
        for input in inputs.values { input.end() }
        for name in [Provider.name, Provider.ownName] { sd_bus_release_name(bus.raw, name) }
    }

    /// Requests the bus name by which stores recognise the provider of their own vault, even while this program does
    /// not answer.
    func claimName(ofVault identifier: [UInt8]) {
        let name = ProviderName.ofVault(Hexadecimal.text(identifier))
        guard name != vaultName else { return }
        // A callback is passed, because sd-bus otherwise closes the connection if the request fails.
        if let vaultName { sd_bus_release_name_async(bus.raw, nil, vaultName, { _, _, _ in 1 }, nil) }
        if let name { sd_bus_request_name_async(bus.raw, nil, name, 0, { _, _, _ in 1 }, nil) }
        vaultName = name
    }
}
