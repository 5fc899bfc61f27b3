internal import CLibsecret
import Glibc
import Synchronization
import TokenKeepCore

/// A connection to the message bus that only this module uses.
///
/// Closing or configuring this connection does not affect connections of the program itself. Each caller sends on its
/// own thread and waits there, so nothing is sent for a caller that has returned.
final class BusConnection: @unchecked Sendable {
    let pointer: OpaquePointer
    let watch: BusWatch
    /// The mark about an unresponsive service, shared by all processes; nil if no file can be made for it.
    let mark: BreakerMark?
    let breaker: CircuitBreaker
    private let filter: UInt32
    private let lost = Atomic<Bool>(false)
    /// The context in which GLib reports that the connection was closed.
    ///
    /// The connection and the context hold references to each other until that report.
    private let construction: OpaquePointer?
    private let end = ConnectionEnd()

    init(
        _ pointer: OpaquePointer, in context: borrowing MainContext, breaker: CircuitBreaker, observers: ChangeObservers
    ) {
        self.pointer = pointer
        self.breaker = breaker
        construction = context.retained()
        mark = glib.pointee.g_dbus_connection_get_guid(pointer).flatMap { BreakerMark(bus: String(cString: $0)) }
        watch = BusWatch(breaker: breaker, observers: observers)
        glib.pointee.g_dbus_connection_set_exit_on_close(pointer, 0)
        filter = glib.pointee.g_dbus_connection_add_filter(
            pointer, BusWatch.filter, Unmanaged.passRetained(watch).toOpaque(),
            { data in data.map { Unmanaged<BusWatch>.fromOpaque($0).release() } })
        _ = glib.pointee.g_signal_connect_data(
            UnsafeMutableRawPointer(pointer), "closed", ConnectionEnd.closed, Unmanaged.passRetained(end).toOpaque(),
            { data, _ in data.map { Unmanaged<ConnectionEnd>.fromOpaque($0).release() } }, 0)
    }

    deinit {
        guard ForkGuard.allows else { return }  // the parent's threads may hold GLib's locks
        do {
            let context = MainContext(entering: construction)
            glib.pointee.g_dbus_connection_remove_filter(pointer, filter)
            // Deliver GLib's pending events, because they hold references to the connection, and the connection holds
            // the context. If the bus closed the connection, GLib may report that before this close completes.
            let closing = Pending<Bool> { _, _ in true }
            glib.pointee.g_dbus_connection_close(pointer, nil, pendingCallback, closing.callbackData)
            _ = context.run(until: Deadline(milliseconds: BusConnection.longestEnd)) {
                end.hasCome && closing.isDone
            }
            glib.pointee.g_object_unref(UnsafeMutableRawPointer(pointer))
        }
        glib.pointee.g_main_context_unref(construction)
    }

    /// The maximum wait for a close, in milliseconds. A close waits for a thread of GLib, not for the bus.
    private static let longestEnd: UInt32 = 200

    /// Whether the connection is closed, or the service has ended or changed.
    var isLost: Bool {
        lost.load(ordering: .relaxed) || watch.ownerHasChanged
            || glib.pointee.g_dbus_connection_is_closed(pointer) != 0
    }

    /// Opens the breaker, because the service did not answer libsecret's request for a session.
    func noteSilence(of destination: String) {
        breaker.open(unanswered: watch.openSessionSerial.map { [$0] } ?? []) { ping(destination) }
    }

    func noteLoss() { lost.store(true, ordering: .relaxed) }

    /// A call that was sent. The reply arrives in the context in which the call was sent.
    struct Sent {
        let call: MethodCall
        let serial: UInt32
        let pending: Pending<Reply>
        /// The time after which a missing reply opens the breaker.
        let patience: Deadline
    }

    /// The time in milliseconds within which a missing answer proves nothing: on a busy machine the service may be
    /// healthy.
    static let hasty: UInt32 = 500

    /// Sends calls without waiting. Must run in the context in which ``replies(to:in:until:)`` then waits.
    ///
    /// - Parameter patience: the time, in milliseconds, after which a missing reply opens the breaker.
    func start(_ calls: [MethodCall], patience: UInt32 = BusConnection.hasty) -> [Sent] {
        calls.map { send($0, Deadline(milliseconds: patience)) }
    }

    /// Cancels calls that were sent. The caller must then run GLib's context, which delivers the results of the calls.
    func cancel(_ sent: [Sent]) {
        for one in sent where !one.pending.isDone { glib.pointee.g_cancellable_cancel(one.pending.cancellable) }
    }

    private func send(_ call: MethodCall, _ patience: Deadline) -> Sent {
        let message = BusConnection.message(call)
        defer { glib.pointee.g_object_unref(UnsafeMutableRawPointer(message)) }
        let pending = Pending<Reply> { connection, result in
            glib.pointee.g_dbus_connection_send_message_with_reply_finish(connection, result, nil)
                .map(BusConnection.reply) ?? .disconnected
        }
        var serial: UInt32 = 0
        glib.pointee.g_dbus_connection_send_message_with_reply(
            pointer, message, 0, .max, &serial, pending.cancellable, pendingCallback, pending.callbackData)
        return Sent(call: call, serial: serial, pending: pending, patience: patience)
    }

    /// Sends a message without waiting for a reply. Returns its serial number; nil if the message could not be sent.
    @discardableResult
    func post(_ call: MethodCall) -> UInt32? {
        let message = BusConnection.message(call)
        defer { glib.pointee.g_object_unref(UnsafeMutableRawPointer(message)) }
        var serial: UInt32 = 0
        guard glib.pointee.g_dbus_connection_send_message(pointer, message, 0, &serial, nil) != 0 else { return nil }
        return serial
    }

    func ping(_ destination: String?) -> UInt32? {
        guard let destination else { return nil }
        return post(
            MethodCall(
                destination: destination, path: .service, interface: "org.freedesktop.DBus.Peer", member: "Ping",
                answerType: "()"))
    }

    private static func message(_ call: MethodCall) -> OpaquePointer? {
        let message = glib.pointee.g_dbus_message_new_method_call(
            call.destination, call.path.text, call.interface, call.member)
        glib.pointee.g_dbus_message_set_body(message, call.body.pointer)
        return message
    }

    private static func reply(_ message: OpaquePointer) -> Reply {
        defer { glib.pointee.g_object_unref(UnsafeMutableRawPointer(message)) }
        let methodReturn: Int32 = 2
        guard glib.pointee.g_dbus_message_get_message_type(message) == methodReturn else {
            let name = glib.pointee.g_dbus_message_get_error_name(message)
            return .error(named: name.map { String(cString: $0) } ?? "")
        }
        guard let body = glib.pointee.g_dbus_message_get_body(message) else { return .answer(.tuple([])) }
        return Variant(taking: glib.pointee.g_variant_ref(body)).map(Reply.answer) ?? .malformed
    }
}
