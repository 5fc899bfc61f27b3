import CSystemdBus
import Glibc
import TokenKeepCore

/// The connection to the session's message bus. Used by the bus thread alone.
final class Bus {
    let raw: OpaquePointer

    /// Connects to the user's bus.
    ///
    /// - Throws: ``Status/unavailable`` if there is no bus; ``Status/denied`` if the bus belongs to another user.
    init() throws(TokenKeepError) {
        var opened: OpaquePointer?
        let result = sd_bus_open_user(&opened)
        guard result >= 0, let opened else {
            throw TokenKeepError(
                .unavailable, "there is no message bus: \(Bus.describe(-result))",
                hint: "set DBUS_SESSION_BUS_ADDRESS, or run tokenkeep secret-service run -- COMMAND")
        }
        raw = opened
        sd_bus_set_exit_on_disconnect(raw, 0)
        let owner = tokenkeep_bus_owner(raw)
        guard owner < 0 || owner == Int64(geteuid()) else {
            let variable = getenv("DBUS_SESSION_BUS_ADDRESS") == nil ? "XDG_RUNTIME_DIR" : "DBUS_SESSION_BUS_ADDRESS"
            throw TokenKeepError(
                .denied, "the message bus belongs to the user \(owner), not to \(geteuid())",
                hint: "\(variable) is another user's: unset it")
        }
    }

    deinit { sd_bus_flush_close_unref(raw) }

    static func describe(_ code: Int32) -> String { String(cString: strerror(code)) }

    /// Sends the reply to a call. Sends nothing if the caller expects no reply.
    func reply(to call: BusMessage, _ body: (OutgoingMessage) -> Void = { _ in }) {
        defer { call.turn = nil }
        var made: OpaquePointer?
        guard sd_bus_message_new_method_return(call.raw, &made) >= 0, let made else { return }
        let reply = OutgoingMessage(made)
        body(reply)
        guard reply.isWhole else { return fail(call, .failed("the reply cannot be written")) }
        sd_bus_send(raw, reply.raw, nil)
    }

    /// Sends an error as the reply to a call.
    func fail(_ call: BusMessage, _ refusal: Refusal) {
        defer { call.turn = nil }
        refusal.name.withCString { name in
            refusal.message.withCString { message in
                var error = sd_bus_error(name: name, message: message, _need_free: 0)
                var made: OpaquePointer?
                guard sd_bus_message_new_method_error(call.raw, &made, &error) >= 0, let made else { return }
                sd_bus_send(raw, made, nil)
                sd_bus_message_unref(made)
            }
        }
    }

    /// Emits a signal to everybody, or to `destination` alone.
    func signal(
        _ path: String, _ interface: String, _ member: String, to destination: String? = nil,
        _ body: (OutgoingMessage) -> Void
    ) {
        var made: OpaquePointer?
        guard sd_bus_message_new_signal(raw, &made, path, interface, member) >= 0, let made else { return }
        let message = OutgoingMessage(made)
        body(message)
        guard message.isWhole else { return }
        if let destination { sd_bus_message_set_destination(message.raw, destination) }
        sd_bus_send(raw, message.raw, nil)
    }

    /// The process id of the owner of a bus name; nil if the bus does not know the process.
    func process(of sender: String) -> pid_t? {
        var creds: OpaquePointer?
        guard sd_bus_get_name_creds(raw, sender, UInt64(SD_BUS_CREDS_PID), &creds) >= 0 else { return nil }
        defer { sd_bus_creds_unref(creds) }
        var process: pid_t = 0
        return sd_bus_creds_get_pid(creds, &process) >= 0 ? process : nil
    }

    /// Calls a method of the bus daemon whose argument is a bus name. Returns the names in the reply; nil on failure.
    func names(_ member: String, of name: String) -> [String]? {
        var call: OpaquePointer?
        let daemon = "org.freedesktop.DBus"
        guard sd_bus_message_new_method_call(raw, &call, daemon, "/org/freedesktop/DBus", daemon, member) >= 0
        else { return nil }
        defer { sd_bus_message_unref(call) }
        let added = name.withCString { sd_bus_message_append_basic(call, BusMessage.type("s"), $0) }
        return added >= 0 ? names(in: call) : nil
    }
}

extension Bus {
    /// The connection's own name on the bus.
    var uniqueName: String {
        var name: UnsafePointer<CChar>?
        return sd_bus_get_unique_name(raw, &name) >= 0 ? BusMessage.text(name) : ""
    }
}

extension Bus {
    /// Sends a method call that expects no reply, on the interface that has the destination's name. Starts no program.
    func call(_ destination: String, _ path: String, _ member: String, _ body: (OutgoingMessage) -> Void) {
        var made: OpaquePointer?
        guard sd_bus_message_new_method_call(raw, &made, destination, path, destination, member) >= 0, let made
        else { return }
        let message = OutgoingMessage(made)
        sd_bus_message_set_expect_reply(message.raw, 0)
        sd_bus_message_set_auto_start(message.raw, 0)
        body(message)
        guard message.isWhole else { return }
        sd_bus_send(raw, message.raw, nil)
    }
}

extension Bus {
    /// The timeout of a call to the bus daemon, in milliseconds.
    private static let limit: UInt32 = 2000

    /// Sends a call, and waits for the reply until a deadline. Only this function computes a timeout for sd-bus.
    ///
    /// - Returns: a result of 0 or more and the reply, which the caller releases; on failure a negative errno and nil.
    func ask(
        _ call: OpaquePointer?, until deadline: Deadline, _ error: UnsafeMutablePointer<sd_bus_error>? = nil
    ) -> (result: Int32, answer: OpaquePointer?) {
        var answer: OpaquePointer?
        // A timeout of 0 would mean sd-bus's default timeout, so pass at least 1 microsecond.
        let microseconds = max(1, UInt64(deadline.remainingMilliseconds) * 1000)
        let result = sd_bus_call(raw, call, microseconds, error, &answer)
        return (result, answer)
    }

    /// Makes the bus daemon reload its activation files, and waits for its reply.
    func reloadConfiguration() {
        let daemon = "org.freedesktop.DBus"
        var call: OpaquePointer?
        guard sd_bus_message_new_method_call(raw, &call, daemon, "/org/freedesktop/DBus", daemon, "ReloadConfig") >= 0
        else { return }
        sd_bus_message_unref(ask(call, until: Deadline(milliseconds: Bus.limit)).answer)
        sd_bus_message_unref(call)
    }

    /// Calls a method of the bus daemon without arguments, and returns the names in the reply; nil on failure.
    func list(_ member: String) -> [String]? {
        let daemon = "org.freedesktop.DBus"
        var call: OpaquePointer?
        guard sd_bus_message_new_method_call(raw, &call, daemon, "/org/freedesktop/DBus", daemon, member) >= 0
        else { return nil }
        defer { sd_bus_message_unref(call) }
        return names(in: call)
    }

    private func names(in call: OpaquePointer?) -> [String]? {
        guard let answer = ask(call, until: Deadline(milliseconds: Bus.limit)).answer else { return nil }
        defer { sd_bus_message_unref(answer) }
        let reply = BusMessage(answer)
        var found: [String] = []
        do throws(Refusal) {
            try reply.array("s") { () throws(Refusal) in found.append(try reply.string()) }
        } catch {
            return nil
        }
        return found
    }
}
