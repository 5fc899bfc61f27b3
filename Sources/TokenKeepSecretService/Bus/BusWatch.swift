internal import CLibsecret
import TokenKeepCore

/// Reads every incoming message for late replies, changes of items and a new owner of the service's name.
///
/// Runs on GLib's thread of the connection.
final class BusWatch: Sendable {
    /// The service's name on the bus.
    static let serviceName = "org.freedesktop.secrets"

    /// The match rule for a change of the service's owner.
    static let ownerRule =
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
        + "member='NameOwnerChanged',arg0='\(serviceName)'"

    /// The match rule for the service's signals about changes of items.
    ///
    /// Not every change is signalled: gnome-keyring signals neither a new secret nor a deletion.
    static let itemsRule =
        "type='signal',sender='\(serviceName)',interface='org.freedesktop.Secret.Collection'"
    /// The match rule for the service's signals about collections, because an unlocked collection shows further items.
    static let collectionsRule =
        "type='signal',sender='\(serviceName)',interface='org.freedesktop.Secret.Service'"
    static let rules: Set<String> = [ownerRule, itemsRule, collectionsRule]

    private static let changes: Set<String> = [
        "ItemCreated", "ItemChanged", "ItemDeleted", "CollectionCreated", "CollectionChanged", "CollectionDeleted",
    ]
    /// The two signals that prove, once both were received, that the service signals every new and every changed item.
    private static let proof: Set<String> = ["ItemCreated", "ItemChanged"]

    private struct Owner {
        var used: String?
        var announced: String?
        /// Whether the current service is known to signal every new and every changed item.
        var tells = false
        /// The signals received from the current service.
        var heard: Set<String> = []
        /// The number of change signals from this and all earlier services. The number never decreases.
        var itemChanges: UInt64 = 0
    }

    private struct RuleState {
        /// The match rules that the bus has not accepted yet.
        var missing = BusWatch.rules
        /// Whether the rules were sent but no replies arrived, so that the bus may have stored the rules.
        var mayBeStored = false
        /// Whether a thread has sent the rules and waits for the replies.
        var isInFlight = false
    }

    private let breaker: CircuitBreaker
    private let owner = MutexGuarded(Owner())
    private let openSession = MutexGuarded<UInt32?>(nil)
    private let ruleState = MutexGuarded(RuleState())

    /// The serial number of the last message that requested a session; nil before the first request.
    var openSessionSerial: UInt32? { openSession.withLock { $0 } }

    private let observers: ChangeObservers

    init(breaker: CircuitBreaker, observers: ChangeObservers) {
        self.breaker = breaker
        self.observers = observers
    }

    /// The match rules that the bus has not accepted yet.
    var missingRules: Set<String> { ruleState.withLock { $0.missing } }

    /// The rules to remove and the rules to add, in this order.
    ///
    /// A rule that the bus may have stored is removed first, because the bus would otherwise store the rule twice. Both
    /// lists are empty while another thread waits for replies. After the replies, the caller must call
    /// ``endRequest(accepted:)``.
    func beginRequest() -> (remove: [String], add: [String]) {
        ruleState.withLock { state in
            guard !state.isInFlight, !state.missing.isEmpty else { return ([], []) }
            state.isInFlight = true
            let rules = state.missing.sorted()
            return (state.mayBeStored ? rules : [], rules)
        }
    }

    /// Records the rules that the bus has accepted. nil means that no replies arrived.
    func endRequest(accepted: [String]?) {
        ruleState.withLock { state in
            state.isInFlight = false
            state.mayBeStored = accepted == nil
            state.missing.subtract(accepted ?? [])
        }
    }

    /// The unique bus name of the current service; nil before the first service.
    var usedOwner: String? { owner.withLock { $0.used } }

    /// Records the service that the connection uses from now on.
    ///
    /// - Parameter tells: whether the service is known to signal every new and every changed item.
    func use(owner name: String, tells: Bool) {
        owner.withLock {
            if $0.used != name { $0.heard = [] }
            $0.used = name
            $0.tells = tells
        }
    }

    /// The number of change signals received; nil unless the service is known to signal every change.
    ///
    /// When a reply has arrived, all signals that the service sent before the reply have been counted.
    var itemChanges: UInt64? {
        guard missingRules.isEmpty else { return nil }
        return owner.withLock { $0.tells || $0.heard.isSuperset(of: BusWatch.proof) ? $0.itemChanges : nil }
    }

    /// Whether the bus has announced a new owner of the service's name.
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

    /// Records the serial number of the message that opens a session, because libsecret does not report the number.
    private func seeOutgoing(_ message: OpaquePointer) {
        guard let member = glib.pointee.g_dbus_message_get_member(message), String(cString: member) == "OpenSession"
        else { return }
        openSession.withLock { $0 = glib.pointee.g_dbus_message_get_serial(message) }
    }

    private func see(_ message: OpaquePointer) {
        let serial = glib.pointee.g_dbus_message_get_reply_serial(message)
        if serial != 0 { return breaker.heard(serial) }
        guard let member = glib.pointee.g_dbus_message_get_member(message).map({ String(cString: $0) }) else { return }
        guard let sender = glib.pointee.g_dbus_message_get_sender(message).map({ String(cString: $0) }) else { return }
        if BusWatch.changes.contains(member) { return seeChange(member, from: sender) }
        guard member == "NameOwnerChanged", sender == "org.freedesktop.DBus",
            let body = glib.pointee.g_dbus_message_get_body(message).flatMap({
                Variant(taking: glib.pointee.g_variant_ref($0))
            }), body.isOf(type: "(sss)"), body[0].text == BusWatch.serviceName
        else { return }
        owner.withLock { $0.announced = body[2].text }
        if ownerHasChanged { breaker.close() }
        observers.tell()
    }

    private func seeChange(_ member: String, from sender: String) {
        let isOurs = owner.withLock { owner in
            guard sender == owner.used else { return false }
            owner.itemChanges += 1
            owner.heard.insert(member)
            return true
        }
        if isOurs { observers.tell() }
    }
}
