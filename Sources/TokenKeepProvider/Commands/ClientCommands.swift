import CSystemdBus
import Glibc
import TokenKeepCore

/// `unlock-running` and `lock-running`: call the running provider, for `tokenkeep unlock` and `tokenkeep lock`.
enum ClientCommands {
    /// Unlocks the vault in the running provider with the password in the first line of standard input.
    static func unlock() throws(TokenKeepError) {
        try ask("Unlock") { call in
            var descriptor = STDIN_FILENO
            sd_bus_message_append_basic(call, BusMessage.type("h"), &descriptor)
        }
    }

    static func lock() throws(TokenKeepError) { try ask("Lock") { _ in } }

    private static func ask(_ member: String, _ body: (OpaquePointer) -> Void) throws(TokenKeepError) {
        let bus = try Bus()
        let name = Provider.ownName
        guard bus.process(of: name) != nil else {
            throw TokenKeepError(.notFound, "no provider of org.freedesktop.secrets runs on this bus")
        }
        var made: OpaquePointer?
        guard sd_bus_message_new_method_call(bus.raw, &made, name, Provider.ownPath, name, member) >= 0, let made
        else { throw TokenKeepError(.internal, "no message can be made") }
        defer { sd_bus_message_unref(made) }
        body(made)
        let (result, answer) = bus.ask(made, until: Deadline(milliseconds: 60_000))
        guard result >= 0, let answer else {
            throw TokenKeepError(.unavailable, "the provider does not answer: \(Bus.describe(-result))")
        }
        defer { sd_bus_message_unref(answer) }
        try check(BusMessage(answer))
    }

    private static func check(_ answer: BusMessage) throws(TokenKeepError) {
        let number: Int32
        do throws(Refusal) {
            try answer.expect("i")
            number = try answer.integer()
        } catch {
            throw TokenKeepError(.unavailable, error.message)
        }
        guard number != 0 else { return }
        let status = Status(rawValue: number) ?? .unavailable
        throw TokenKeepError(status, "the provider answered \(status.name)")
    }
}
