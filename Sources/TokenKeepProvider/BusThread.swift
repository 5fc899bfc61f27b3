import CSystemShims
import CSystemdBus
import Glibc
import TokenKeepCore

/// The loop of the bus thread. It handles messages, results of workers, changes of the vault, system signals and
/// timers.
extension Provider {
    /// Registers all objects with sd-bus. Called before the names are requested, so that the first call finds its
    /// object.
    func register() throws(TokenKeepError) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        let results = [
            sd_bus_add_fallback(
                bus.raw, nil, ObjectPath.root,
                { message, this, _ in Provider.receive(message, this) { $0.handle($1) } }, this),
            sd_bus_add_object(
                bus.raw, nil, Provider.ownPath,
                { message, this, _ in Provider.receive(message, this) { $0.handleOwn($1) } }, this),
            sd_bus_add_object(
                bus.raw, nil, Provider.portalPath,
                { message, this, _ in Provider.receive(message, this) { $0.handlePortal($1) } }, this),
            sd_bus_add_match(
                bus.raw, nil,
                "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged'",
                { message, this, _ in Provider.receive(message, this, isHandled: false) { $0.ownerChanged($1) } }, this),
        ]
        if let failure = results.first(where: { $0 < 0 }) {
            throw TokenKeepError(.unavailable, "the bus refused to register objects: \(Bus.describe(-failure))")
        }
    }

    private static func receive(
        _ message: OpaquePointer?, _ provider: UnsafeMutableRawPointer?, isHandled: Bool = true,
        _ body: (Provider, BusMessage) -> Void
    ) -> Int32 {
        guard let message, let provider else { return 0 }
        body(Unmanaged<Provider>.fromOpaque(provider).takeUnretainedValue(), BusMessage(message))
        return isHandled ? 1 : 0
    }

    /// Requests the program's bus names, but never takes a name from another owner.
    ///
    /// The program's own names are requested before `org.freedesktop.secrets`. So a client that sees the owner of
    /// `org.freedesktop.secrets` can already see that this owner is a provider, and which vault it serves.
    func requestNames() throws(TokenKeepError) {
        // Check the service's name first. Otherwise this program could own its own name and receive calls, and then end
        // because the service's name has another owner.
        guard bus.process(of: Provider.name) == nil else { throw isTaken(Provider.name) }
        if let identifier = try? store.records.opener.vaultID() { claimName(ofVault: identifier) }
        for name in [Provider.ownName, Provider.name] {
            // Without SD_BUS_NAME_QUEUE the request fails at once if the name has another owner.
            guard sd_bus_request_name(bus.raw, name, UInt64(SD_BUS_NAME_ALLOW_REPLACEMENT)) >= 0 else {
                throw isTaken(name)
            }
        }
    }

    private func isTaken(_ name: String) -> TokenKeepError {
        let owner = bus.process(of: name).map { ": \(CallingProgram.name(of: $0)) (pid \($0))" } ?? ""
        return TokenKeepError(
            .unavailable, "\(name) has another owner\(owner)",
            hint: "this program never takes the name from another keyring")
    }

    private func ownerChanged(_ message: BusMessage) {
        do throws(Refusal) {
            try message.expect("sss")
            let name = try message.string()
            _ = try message.string()
            let owner = try message.string()
            if name.hasPrefix(":") {
                guard owner.isEmpty else { return }
                clients.remove(name)
                dropPrompts(of: name)
                dropInputs(of: name)
            } else {
                nameChanged(name, owner)
            }
        } catch {
            Log.line("a signal of the bus cannot be read")
        }
    }

    /// The maximum number of messages handled in one turn of the loop, so that a flood of messages does not delay
    /// results and waiting calls for long.
    private static let takenAtOnce = 32

    /// Runs the loop until the bus connection ends, or the names are released and no work is in flight.
    ///
    /// - Parameter signals: the descriptor of the signals that end the program.
    /// - Throws: ``Status/unavailable`` if too few descriptors are free to read the bus: sd-bus then drops messages.
    func serve(_ signals: Int32) throws(TokenKeepError) {
        while true {
            let result = readMessages()
            if result == -EXFULL || result == -ECHRNG {
                throw TokenKeepError(.unavailable, "the bus cannot be read: too few descriptors are free")
            }
            if result < 0 || isLeaving && result == 0 && !hasWorkInFlight { return }
            // The steps after `wait` may call the bus, which can leave received messages in sd-bus's queue. Therefore
            // each turn reads messages before it waits.
            wait(signals, mayBlock: result == 0 && ready.isEmpty)
            completeWork()
            for body in timers.takeDue() { body() }
            startLook()
            serveReady()
        }
    }

    /// Handles up to ``takenAtOnce`` messages. Returns sd-bus's last result: 0 if no message is left, negative on
    /// failure.
    private func readMessages() -> Int32 {
        var result: Int32 = 1
        for _ in 0..<Provider.takenAtOnce where result > 0 { result = sd_bus_process(bus.raw, nil) }
        return result
    }

    /// Reads a system signal that ends the program. The program ends after the calls in flight.
    private func handleSignal(_ signals: Int32) {
        _ = tokenkeep_next_signal(signals)
        leave("")
    }

    /// Polls the bus, the workers' results, the signals and the vault's watch. Blocks only if `mayBlock`.
    private func wait(_ signals: Int32, mayBlock: Bool) {
        let events = sd_bus_get_events(bus.raw)
        var files = [
            pollfd(fd: sd_bus_get_fd(bus.raw), events: Int16(truncatingIfNeeded: max(events, 0)), revents: 0),
            pollfd(fd: results.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
            pollfd(fd: freshness.isLooking ? -1 : reader.watch.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let timeout = mayBlock ? timers.next.map { Int32(clamping: $0) } ?? -1 : 0
        guard poll(&files, nfds_t(files.count), timeout) > 0 else { return }
        if files[2].revents != 0 { handleSignal(signals) }
        if files[3].revents != 0 { freshness.isSignalled = true }
    }
}
