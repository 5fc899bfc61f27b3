internal import CLibsecret
import Glibc
import TokenKeepCore

extension BusConnection {
    /// Connects to the first reachable bus of an address that belongs to this user or root.
    ///
    /// - Parameter address: entries separated by `;`.
    /// - Throws: ``Status/unavailable`` if no bus accepts this process or can be trusted; as an absence if nothing
    ///   listens at any entry. ``Status/timedOut`` if a bus does not answer; ``Status/cancelled``.
    static func connect(
        to address: String, breaker: CircuitBreaker, observers: ChangeObservers, until deadline: Deadline
    ) throws(TokenKeepError) -> BusConnection {
        var failure = TokenKeepError(.unavailable, "there is no session bus at its address", isAbsence: true)
        for entry in address.split(separator: ";") {
            do throws(TokenKeepError) {
                let connection = try connect(
                    toEntry: String(entry), breaker: breaker, observers: observers, until: deadline)
                try connection.checkPeer()
                return connection
            } catch {
                guard error.status == .unavailable else { throw error }
                // A bus that was refused may hold items: a following entry without a bus does not make an absence.
                if failure.isAbsence { failure = error }
            }
        }
        throw failure
    }

    private func checkPeer() throws(TokenKeepError) {
        let stream = glib.pointee.g_dbus_connection_get_stream(pointer)
        let isSocket =
            stream.map {
                glib.pointee.g_type_check_instance_is_a(
                    $0, glib.pointee.g_socket_connection_get_type()) != 0
            } ?? false
        guard isSocket, let socket = glib.pointee.g_socket_connection_get_socket(stream) else {
            return try BusPeer.check(-1)
        }
        try BusPeer.check(glib.pointee.g_socket_get_fd(socket))
    }

    /// Connects to one entry. Every signal is blocked in the threads that this starts.
    private static func connect(
        toEntry address: String, breaker: CircuitBreaker, observers: ChangeObservers, until deadline: Deadline
    ) throws(TokenKeepError) -> BusConnection {
        let context = try MainContext(leaving: DescriptorSupply.forConnection)
        let pending = Pending { _, result -> Attempt in
            var error: UnsafeMutablePointer<GError>?
            let connection = glib.pointee.g_dbus_connection_new_for_address_finish(result, &error)
            return connection.map(Attempt.connected) ?? .failed(failure(error))
        }
        withSignalsBlocked {
            let authenticateAsClientOfABus: Int32 = 1 | 8
            glib.pointee.g_dbus_connection_new_for_address(
                address, authenticateAsClientOfABus, nil, pending.cancellable, pendingCallback, pending.callbackData)
        }
        guard context.run(until: deadline, { pending.isDone }) else {
            glib.pointee.g_cancellable_cancel(pending.cancellable)
            if !deadline.isCancelled { breaker.open(unanswered: []) { nil } }
            _ = context.run(until: Deadline(milliseconds: 50)) { pending.isDone }
            if case .connected(let late)? = pending.take() {
                _ = BusConnection(late, in: context, breaker: breaker, observers: observers)  // deinit closes it
            }
            throw deadline.failure("the message bus did not answer in time")
        }
        switch pending.take() {
        case .connected(let connection)?:
            return BusConnection(connection, in: context, breaker: breaker, observers: observers)
        case .failed(let error)?: throw error
        case nil: throw TokenKeepError(.internal, "GLib did not say how connecting ended")
        }
    }

    private enum Attempt {
        case connected(OpaquePointer)
        case failed(TokenKeepError)
    }

    /// The error for a failed connection: an absence only if nothing listens.
    ///
    /// GLib's message is repeated only for an absence: other messages may quote the bus.
    private static func failure(_ error: UnsafeMutablePointer<GError>?) -> TokenKeepError {
        defer { GLibrary.drop(error) }
        let (notFound, invalidAddress, connectionRefused): (Int32, Int32, Int32) = (1, 13, 39)
        guard let error = error?.pointee, error.domain == glib.pointee.g_io_error_quark(),
            [notFound, invalidAddress, connectionRefused].contains(error.code)
        else { return TokenKeepError(.unavailable, "the session bus does not let this process in") }
        return TokenKeepError(
            .unavailable, "there is no session bus at its address: \(GLibrary.printable(error.message))",
            isAbsence: true)
    }

    private static func withSignalsBlocked(_ body: () -> Void) {
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, &previous)
        body()
        pthread_sigmask(SIG_SETMASK, &previous, nil)
    }
}
