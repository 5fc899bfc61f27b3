import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// The interface `org.tokenkeep.SecretService1`, by which the program `tokenkeep` reaches the keys of this process.
extension Provider {
    static let ownName = "org.tokenkeep.SecretService1"
    static let ownPath = "/org/tokenkeep/SecretService1"

    func handleOwn(_ message: BusMessage) {
        do throws(Refusal) {
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

    /// The vault's identifier as 32 hexadecimal digits; "" without a vault.
    private func vaultID(for client: String, _ body: @escaping (String) -> Void) {
        run(on: nil, for: client, { [store] () -> [UInt8] in (try? store.records.opener.vaultID()) ?? [] }) {
            body(Hexadecimal.text($0))
        }
    }

    private func unlockOwn(_ message: BusMessage) throws(Refusal) {
        try message.expect("h")
        let descriptor = fcntl(try message.descriptor(), F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw .failed("the descriptor cannot be used") }
        run(
            on: "locks", for: message.sender,
            { [store] () -> TokenKeepError? in
                let file = OwnedDescriptor(descriptor)
                do throws(TokenKeepError) {
                    try store.unlock(
                        try PasswordReading.line(of: file.number, "the descriptor"), until: store.longDeadline)
                    return nil
                } catch {
                    return error
                }
            }
        ) { [self] problem in answer(message, problem) }
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

    /// Answers with a status, once the index shows the vault as it is now.
    private func answer(_ message: BusMessage, _ problem: TokenKeepError?) {
        whenFresh(message) { [self] () throws(Refusal) in
            if let problem { report(problem, message) }
            bus.reply(to: message) { $0.number(Int32(problem?.status.rawValue ?? 0)) }
        }
    }
}
