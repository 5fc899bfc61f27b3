import CSystemdBus
import TokenKeepCore

/// The dispatch of each call to the object that it names.
extension Provider {
    /// Handles a call to an object below `/org/freedesktop/secrets`. The reply may be sent later.
    func handle(_ message: BusMessage) {
        do throws(Refusal) {
            guard let path = ObjectPath(message.path) else {
                throw .unknownObject("there is no object \(message.path)")
            }
            try dispatch(path, message)
        } catch {
            bus.fail(message, error)
        }
    }

    private func dispatch(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        switch message.interface {
        case Interfaces.properties: return try callProperties(path, message)
        case Interfaces.introspectable:
            guard message.member == "Introspect" else { throw .unknownMethod("there is no method \(message.member)") }
            return try introspect(path, message)
        default: break
        }
        let called = message.interface
        switch path {
        case .service where [Interfaces.service, ""].contains(called): try callService(message)
        case .collection(let id) where [Interfaces.collection, ""].contains(called): try callCollection(id, message)
        case .item where [Interfaces.item, ""].contains(called): try callItem(path, message)
        case .session where [Interfaces.session, ""].contains(called): try callSession(message)
        case .prompt where [Interfaces.prompt, ""].contains(called): try callPrompt(message)
        // Some programs first try an interface that only gnome-keyring has. This error makes them use the standard
        // interface instead.
        default: throw .unknownMethod("there is no interface \(called) at \(message.path)")
        }
    }

    private func callSession(_ message: BusMessage) throws(Refusal) {
        guard message.member == "Close" else { throw .unknownMethod("a session has no method \(message.member)") }
        try message.expect("")
        _ = try session(message.path, of: message)
        clients.remove(session: message.path)
        bus.reply(to: message)
    }

    /// Logs a failure, with the program whose call failed.
    func report(_ error: TokenKeepError, _ message: BusMessage) {
        Log.line("\(error.message), for \(caller(of: message.sender))")
    }

    /// Describes a client's program and process for the log.
    func caller(of sender: String) -> String {
        guard let process = bus.process(of: sender) else { return "a program that has ended" }
        let sandbox = CallingProgram.sandbox(of: process).map { ", Flatpak \($0)" } ?? ""
        return "\(CallingProgram.name(of: process)) (pid \(process)\(sandbox))"
    }
}
