import Glibc
import TokenKeepCore
import TokenKeepKeys

/// The backend of the Secret portal, which gives each sandboxed program its own secret of 64 bytes.
///
/// gnome-keyring's `.portal` file names `org.freedesktop.secrets`, so the portal calls any owner of this name.
extension Provider {
    static let portalPath = "/org/freedesktop/portal/desktop"
    private static let secretLength = 64
    /// The portal's response code for "ended in some other way".
    private static let failed: UInt32 = 2

    func handlePortal(_ message: BusMessage) {
        do throws(Refusal) {
            switch (message.interface, message.member) {
            case (Interfaces.portal, "RetrieveSecret"): try retrieveSecret(message)
            case (Interfaces.properties, "Get"):
                try message.expect("ss")
                _ = try message.string()
                guard try message.string() == "version" else { throw .unknownProperty("there is no such property") }
                bus.reply(to: message) { reply in reply.variant("u") { reply.number(UInt32(1)) } }
            case (Interfaces.properties, "GetAll"):
                try message.expect("s")
                bus.reply(to: message) { reply in
                    reply.array("{sv}") { reply.entry("version", "u") { reply.number(UInt32(1)) } }
                }
            case (Interfaces.introspectable, "Introspect"):
                bus.reply(to: message) { $0.string(Introspection.head + Introspection.portal + "</node>\n") }
            default: throw .unknownMethod("there is no method \(message.interface).\(message.member)")
            }
        } catch {
            bus.fail(message, error)
        }
    }

    /// The name of the record that holds a sandboxed program's secret.
    static func portalName(of program: String) throws(TokenKeepError) -> ItemName {
        // An empty account would name a collection's record, so programs outside sandboxes, whose id is "", share "-".
        try ItemName(
            namespace: ReservedNamespace.name, service: ReservedNamespace.portal,
            account: program.isEmpty ? "-" : program)
    }

    private func retrieveSecret(_ message: BusMessage) throws(Refusal) {
        try message.expect("osha{sv}")
        _ = try message.objectPath()
        let program = try message.string()
        let descriptor = fcntl(try message.descriptor(), F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw .failed("the descriptor cannot be used") }
        let file = OwnedDescriptor(descriptor)
        whenFresh(message, nil) { [self] () throws(Refusal) in
            guard !isLocked else { return answer(Provider.failed, message) }
            guard let name = try? Provider.portalName(of: program) else { return answer(Provider.failed, message) }
            run(
                on: "portal", for: message.sender,
                { [writer] () -> Bool in
                    guard
                        let secret = try? writer.secret(
                            name, label: "portal",
                            orMake: { () throws(TokenKeepError) in
                                try SecretBytes(randomCount: Provider.secretLength)
                            })
                    else { return false }
                    return Provider.write(secret, to: file)
                }
            ) { [self] isWritten in answer(isWritten ? 0 : Provider.failed, message) }
        }
    }

    /// Writes the secret to the caller's descriptor. Returns false if the descriptor does not become writable within a
    /// second, or if the write fails.
    private static func write(_ secret: SecretBytes, to file: OwnedDescriptor) -> Bool {
        var ready = pollfd(fd: file.number, events: Int16(POLLOUT), revents: 0)
        let limit = Deadline(milliseconds: 1000)
        guard poll(&ready, 1, Int32(clamping: limit.remainingMilliseconds)) == 1 else { return false }
        return secret.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) == $0.count }
    }

    private func answer(_ response: UInt32, _ message: BusMessage) {
        bus.reply(to: message) { reply in
            reply.number(response)
            reply.array("{sv}") {}
        }
    }
}
