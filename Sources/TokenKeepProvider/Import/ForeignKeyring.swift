import CSystemdBus
import TokenKeepCore

/// A collection of another keyring.
struct ForeignCollection {
    let path: String
    let label: String
    let isLocked: Bool
    let items: [String]
}

/// An item of another keyring, without its secret.
struct ForeignItem {
    let path: String
    let label: String
    let attributes: [String: String]
    let isLocked: Bool
    let created: UInt64
    let modified: UInt64
}

/// A client of the keyring that owns `org.freedesktop.secrets`. Used by one thread.
final class ForeignKeyring {
    private let bus: Bus
    private let session: SecretSession
    private let sessionPath: String
    /// The keyring's unique bus name. Calls go to it alone, so that a later owner of `org.freedesktop.secrets` gets
    /// none.
    let owner: String
    /// The timeout of one call, in milliseconds.
    private static let limit: UInt32 = 30_000

    /// Opens a session, with encryption if the keyring supports it.
    init(_ bus: Bus) throws(TokenKeepError) {
        self.bus = bus
        (session, sessionPath, owner) = try ForeignKeyring.open(bus)
    }

    private static func open(_ bus: Bus) throws(TokenKeepError) -> (SecretSession, String, String) {
        do throws(TokenKeepError) {
            let (secret, ours) = try KeyAgreement.begin()
            let (peer, path, owner) = try open(bus, SecretSession.algorithm) { message in
                message.variant("ay") { message.bytes(ours) }
            }
            return (SecretSession(owner: "", key: try KeyAgreement.finish(secret, with: peer)), path, owner)
        } catch {
            guard error.status == .unsupported else { throw error }
            let (_, path, owner) = try open(bus, "plain") { message in message.variant("s") { message.string("") } }
            return (SecretSession(owner: "", key: nil), path, owner)
        }
    }

    /// Opens a session. Returns the keyring's public key (empty if the session is plain), the session's path and the
    /// keyring's unique bus name.
    private static func open(
        _ bus: Bus, _ algorithm: String, _ argument: (OutgoingMessage) -> Void
    ) throws(TokenKeepError) -> ([UInt8], String, String) {
        let answer = try call(bus, Provider.name, ObjectPath.root, Interfaces.service, "OpenSession") { message in
            message.string(algorithm)
            argument(message)
        }
        return try reading { () throws(Refusal) in
            var peer: [UInt8] = []
            try answer.variant { (signature) throws(Refusal) in
                guard signature == "ay" else { return try answer.skip(signature) }
                peer = Array(try answer.bytes())
            }
            return (peer, try answer.objectPath(), answer.sender)
        }
    }

    /// The path of the collection behind an alias; nil if the alias names no collection.
    func collection(behind alias: String) throws(TokenKeepError) -> String? {
        let answer = try call(ObjectPath.root, Interfaces.service, "ReadAlias") { $0.string(alias) }
        let path = try ForeignKeyring.reading { () throws(Refusal) in try answer.objectPath() }
        return path == ObjectPath.none ? nil : path
    }

    /// Reads every collection of the keyring.
    func collections() throws(TokenKeepError) -> [ForeignCollection] {
        var paths: [String] = []
        try properties(of: ObjectPath.root, Interfaces.service) { (name, signature, answer) throws(Refusal) in
            guard name == "Collections", signature == "ao" else { return try answer.skip(signature) }
            paths = try answer.paths()
        }
        var found: [ForeignCollection] = []
        for path in paths { found.append(try collection(at: path)) }
        return found
    }

    private func collection(at path: String) throws(TokenKeepError) -> ForeignCollection {
        var (label, isLocked, items) = ("", false, [String]())
        try properties(of: path, Interfaces.collection) { (name, signature, answer) throws(Refusal) in
            switch (name, signature) {
            case ("Label", "s"): label = try answer.string()
            case ("Locked", "b"): isLocked = try answer.bool()
            case ("Items", "ao"): items = try answer.paths()
            default: try answer.skip(signature)
            }
        }
        return ForeignCollection(path: path, label: label, isLocked: isLocked, items: items)
    }

    func item(at path: String) throws(TokenKeepError) -> ForeignItem {
        var (label, isLocked, attributes, created, modified) = ("", false, [String: String](), UInt64(0), UInt64(0))
        try properties(of: path, Interfaces.item) { (name, signature, answer) throws(Refusal) in
            switch (name, signature) {
            case ("Label", "s"): label = try answer.string()
            case ("Locked", "b"): isLocked = try answer.bool()
            case ("Attributes", "a{ss}"): attributes = try answer.strings()
            case ("Created", "t"): created = try answer.long()
            case ("Modified", "t"): modified = try answer.long()
            default: try answer.skip(signature)
            }
        }
        return ForeignItem(
            path: path, label: label, attributes: attributes, isLocked: isLocked, created: created, modified: modified)
    }

    /// Reads the secret of an item, with its content type.
    func secret(of path: String) throws(TokenKeepError) -> (secret: SecretBytes, contentType: String) {
        let answer = try call(path, Interfaces.item, "GetSecret") { $0.path(self.sessionPath) }
        return try ForeignKeyring.reading { () throws(Refusal) in
            try answer.enter("r", "oayays")
            _ = try answer.objectPath()
            let parameters = try answer.bytes()
            let value = try answer.bytes()
            let contentType = try answer.string()
            try answer.leave()
            return (try session.decode(value, parameters: parameters), contentType)
        }
    }

    /// Whether the keyring unlocks a collection with a password that its client sends.
    func takesPasswords() throws(TokenKeepError) -> Bool {
        let answer = try call(ObjectPath.root, Interfaces.introspectable, "Introspect") { _ in }
        let description = try ForeignKeyring.reading { () throws(Refusal) in try answer.string() }
        return description.contains("\"\(Interfaces.passwords)\"")
    }

    /// Unlocks a collection. The session encrypts the password if the keyring supports it.
    ///
    /// - Returns: false if the password is wrong.
    func unlock(_ collection: String, with password: SecretBytes) throws(TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            _ = try call(ObjectPath.root, Interfaces.passwords, "UnlockWithMasterPassword") { message in
                message.path(collection)
                session.write(password, contentType: "text/plain", session: sessionPath, to: message)
            }
            return true
        } catch {
            guard error.status == .denied else { throw error }
            return false
        }
    }

    /// Deletes an item.
    ///
    /// - Throws: ``Status/conflict`` if the keyring asks its user first. The question is dismissed.
    func delete(_ path: String) throws(TokenKeepError) {
        let answer = try call(path, Interfaces.item, "Delete") { _ in }
        let prompt = try ForeignKeyring.reading { () throws(Refusal) in try answer.objectPath() }
        guard prompt != ObjectPath.none else { return }
        _ = try? call(prompt, Interfaces.prompt, "Dismiss") { _ in }
        throw TokenKeepError(.conflict, "the keyring asks its user before it deletes the item")
    }

    private func properties(
        of path: String, _ interface: String, _ body: (String, String, BusMessage) throws(Refusal) -> Void
    ) throws(TokenKeepError) {
        let answer = try call(path, Interfaces.properties, "GetAll") { $0.string(interface) }
        try ForeignKeyring.reading { () throws(Refusal) in
            try answer.properties { (name, signature) throws(Refusal) in try body(name, signature, answer) }
        }
    }

    private func call(
        _ path: String, _ interface: String, _ member: String, _ body: (OutgoingMessage) -> Void
    ) throws(TokenKeepError) -> BusMessage {
        try ForeignKeyring.call(bus, owner, path, interface, member, body)
    }

    private static func call(
        _ bus: Bus, _ destination: String, _ path: String, _ interface: String, _ member: String,
        _ body: (OutgoingMessage) -> Void
    ) throws(TokenKeepError) -> BusMessage {
        var made: OpaquePointer?
        guard sd_bus_message_new_method_call(bus.raw, &made, destination, path, interface, member) >= 0, let made
        else { throw TokenKeepError(.corrupt, "the keyring has an object with an odd path", module: "secret-service") }
        let message = OutgoingMessage(made)
        body(message)
        guard message.isWhole else { throw TokenKeepError(.internal, "no message can be made") }
        var error = sd_bus_error()
        defer { sd_bus_error_free(&error) }
        let (result, answer) = bus.ask(message.raw, until: Deadline(milliseconds: limit), &error)
        guard result >= 0, let answer else { throw failure(path, member, error, result) }
        defer { sd_bus_message_unref(answer) }
        return BusMessage(answer)
    }

    private static func failure(
        _ path: String, _ member: String, _ error: sd_bus_error, _ result: Int32
    ) -> TokenKeepError {
        let name = BusMessage.text(error.name)
        let status: Status =
            switch name {
            case "org.freedesktop.Secret.Error.IsLocked": .locked
            case "org.freedesktop.DBus.Error.NotSupported": .unsupported
            case "org.gnome.keyring.Error.Denied": .denied
            case let name where isLoss(name): .unavailable
            default: path == ObjectPath.root ? .unavailable : .io
            }
        let reason = name.isEmpty ? Bus.describe(-result) : name
        return TokenKeepError(status, "the keyring refused \(member): \(reason)", module: "secret-service")
    }

    /// Whether an error means that the keyring or the bus is gone or does not answer. sd-bus reports errno values as
    /// `System.Error.…`.
    private static func isLoss(_ name: String) -> Bool {
        let words = ["ServiceUnknown", "NameHasNoOwner", "NoReply", "Timeout", "TimedOut", "Disconnected", "NoServer"]
        return name.isEmpty || name.hasPrefix("System.Error.")
            || words.contains { name == "org.freedesktop.DBus.Error.\($0)" }
    }

    private static func reading<Value>(_ body: () throws(Refusal) -> Value) throws(TokenKeepError) -> Value {
        do throws(Refusal) {
            return try body()
        } catch {
            throw TokenKeepError(
                .corrupt, "the keyring's answer is odd: \(error.message)", module: "secret-service")
        }
    }
}

extension TokenKeepError {
    /// Whether the error concerns one object only: the keyring answers and is not locked.
    var isOfForeignObject: Bool { module == "secret-service" && (status == .io || status == .corrupt) }
}
