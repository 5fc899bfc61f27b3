import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// The interface `org.tokenkeep.SecretService1`, by which `tokenkeep` unlocks and locks the vault in this process.
extension Provider {
    static let ownName = ProviderName.own
    static let ownPath = "/org/tokenkeep/SecretService1"

    func handleOwn(_ message: BusMessage) {
        do throws(Refusal) {
            try hold(message)
            switch (message.interface, message.member) {
            case (Interfaces.properties, "Get"):
                try message.expect("ss")
                _ = try message.string()
                guard try message.string() == "VaultId" else { throw .unknownProperty("there is no such property") }
                replyVaultID(message)
            case (Interfaces.properties, "GetAll"):
                try message.expect("s")
                replyProperties(message)
            case (Interfaces.introspectable, "Introspect"):
                bus.reply(to: message) { $0.string(Introspection.head + Introspection.ours + "</node>\n") }
            case (Interfaces.ours, "Unlock"), ("", "Unlock"): try unlockOwn(message)
            case (Interfaces.ours, "Lock"), ("", "Lock"): try lockOwn(message)
            default: throw .unknownMethod("there is no method \(message.interface).\(message.member)")
            }
        } catch {
            bus.fail(message, error)
        }
    }

    private func replyVaultID(_ message: BusMessage) {
        vaultID(for: message.sender) { [self] id in
            bus.reply(to: message) { reply in reply.variant("s") { reply.string(id) } }
        }
    }

    private func replyProperties(_ message: BusMessage) {
        vaultID(for: message.sender) { [self] id in
            bus.reply(to: message) { reply in
                reply.array("{sv}") { reply.entry("VaultId", "s") { reply.string(id) } }
            }
        }
    }

    /// Calls `body` with the vault's identifier as 32 hexadecimal digits, or with "" if there is no vault.
    private func vaultID(for client: String, _ body: @escaping (String) -> Void) {
        run(on: nil, for: client, { [store] () -> [UInt8] in (try? store.records.opener.vaultID()) ?? [] }) {
            body(Hexadecimal.text($0))
        }
    }

    private func unlockOwn(_ message: BusMessage) throws(Refusal) {
        try message.expect("h")
        guard !isLeaving else { throw .failed("the program ends") }
        let client = message.sender
        guard inputs.values.reduce(0, { $0 + ($1.client == client ? 1 : 0) }) < PasswordInput.clientLimit,
            inputs.count < PasswordInput.limit
        else { throw .limit("too many calls of Unlock are not answered yet") }
        let descriptor = fcntl(try message.descriptor(), F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw .failed("the descriptor cannot be used") }
        let input = PasswordInput(descriptor, of: client)
        inputs[ObjectIdentifier(input)] = input
        // The client decides how long the read takes, so the read runs on its own thread and delays no other call.
        runAlone({ input.read() }) { [self] result in
            switch result {
            case .success(let password): unlock(with: password, input, message)
            case .failure(let error): finish(input, message, error)
            }
        }
    }

    private func unlock(with password: SecretBytes, _ input: PasswordInput, _ message: BusMessage) {
        run(
            on: "locks", for: input.client,
            { [store] () -> TokenKeepError? in
                guard !input.isEnded else { return PasswordInput.ended }
                do throws(TokenKeepError) {
                    try store.unlock(password, until: store.longDeadline)
                    return nil
                } catch {
                    return error
                }
            }
        ) { [self] problem in finish(input, message, problem) }
    }

    private func finish(_ input: PasswordInput, _ message: BusMessage, _ problem: TokenKeepError?) {
        // Reply only if the client is still on the bus. If the client has left, `dropInputs` has removed its input.
        if inputs.removeValue(forKey: ObjectIdentifier(input)) != nil { answer(message, problem) }
    }

    /// Ends the unlock attempts of a client that left the bus.
    func dropInputs(of client: String) {
        for (key, input) in inputs where input.client == client {
            inputs[key] = nil
            input.end()
        }
    }

    private func lockOwn(_ message: BusMessage) throws(Refusal) {
        try message.expect("")
        run(
            on: "locks", for: message.sender,
            { [store] () -> TokenKeepError? in
                do throws(TokenKeepError) {
                    _ = try store.lock()
                    return nil
                } catch {
                    return error
                }
            }
        ) { [self] problem in answer(message, problem) }
    }

    /// Replies with a status, once the index is up to date.
    private func answer(_ message: BusMessage, _ problem: TokenKeepError?) {
        whenFresh(message, nil) { [self] () throws(Refusal) in
            if let problem { report(problem, message) }
            bus.reply(to: message) { $0.number(Int32(problem?.status.rawValue ?? 0)) }
        }
    }
}
