internal import CLibsecret

/// Sees every message that comes in, on the connection's own thread: late answers, and changes of the service's owner.
final class BusWatch: Sendable {
    /// The name that the service has on the bus.
    static let serviceName = "org.freedesktop.secrets"

    /// The rule that makes the bus tell of changes of the owner.
    static let ownerRule =
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
        + "member='NameOwnerChanged',arg0='\(serviceName)'"

    private struct Owner {
        var used: String?
        var announced: String?
    }

    private let breaker: Breaker
    private let owner = Guarded(Owner())
    private let openSession = Guarded<UInt32?>(nil)

    /// The serial of the last message that asked for a session.
    var openSessionSerial: UInt32? { openSession.withLock { $0 } }

    init(breaker: Breaker) { self.breaker = breaker }

    /// Notes the owner that the connection talks to from now on.
    func use(owner name: String) { owner.withLock { $0.used = name } }

    /// Whether the bus has announced another owner than the one in use.
    var ownerHasChanged: Bool {
        owner.withLock { owner in
            guard let used = owner.used, let announced = owner.announced else { return false }
            return used != announced
        }
    }

    static let filter: GDBusMessageFilterFunction = { _, message, incoming, data in
        if let message, let data {
            let watch = Unmanaged<BusWatch>.fromOpaque(data).takeUnretainedValue()
            if incoming != 0 { watch.see(message) } else { watch.seeOutgoing(message) }
        }
        return message
    }

    /// libsecret does not tell the serial of the message that opens a session.
    private func seeOutgoing(_ message: OpaquePointer) {
        guard let member = glib.pointee.g_dbus_message_get_member(message), String(cString: member) == "OpenSession"
        else { return }
        openSession.withLock { $0 = glib.pointee.g_dbus_message_get_serial(message) }
    }

    private func see(_ message: OpaquePointer) {
        let serial = glib.pointee.g_dbus_message_get_reply_serial(message)
        if serial != 0 { return breaker.heard(serial) }
        guard let member = glib.pointee.g_dbus_message_get_member(message),
            String(cString: member) == "NameOwnerChanged",
            let sender = glib.pointee.g_dbus_message_get_sender(message),
            String(cString: sender) == "org.freedesktop.DBus",
            let body = glib.pointee.g_dbus_message_get_body(message).flatMap({
                Variant(taking: glib.pointee.g_variant_ref($0))
            }), body.isOf(type: "(sss)"), body[0].text == BusWatch.serviceName
        else { return }
        owner.withLock { $0.announced = body[2].text }
        if ownerHasChanged { breaker.close() }
    }
}
