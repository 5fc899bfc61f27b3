internal import CLibsecret
import Glibc
import TokenKeepCore

extension BusConnection {
    /// Connects to the first reachable bus of an address. The bus must belong to this user or to root.
    ///
    /// - Parameter address: the entries of the address, separated by `;`.
    /// - Throws: ``Status/unavailable`` if no bus can be trusted and accepts this process, as an absence if nothing
    ///   listens at any entry; ``Status/timedOut`` if a bus does not answer; ``Status/cancelled``.
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
                // The service on a bus that refused this process may have items, so the failure must not become an
                // absence because no bus listens at a later entry.
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

    /// Connects to one entry of an address. All signals are blocked in the threads that GLib starts for the connection.
    ///
    /// - Throws: ``Status/io`` if no thread can be started; ``Status/unavailable`` if too few descriptors are free or
    ///   the bus refuses this process; ``Status/timedOut``; ``Status/cancelled``.
    private static func connect(
        toEntry address: String, breaker: CircuitBreaker, observers: ChangeObservers, until deadline: Deadline
    ) throws(TokenKeepError) -> BusConnection {
        let context = try MainContext(leaving: DescriptorSupply.forConnection)
        let retained = context.retained()
        defer { glib.pointee.g_main_context_unref(retained) }
        let patience = Deadline(milliseconds: BusConnection.hasty)
        var started: OpaquePointer?
        let problem = tokenkeep_connecting_start(address, retained, &started)
        guard problem == 0, let started else { throw notBegun(problem) }
        _ = context.run(until: deadline) { tokenkeep_connecting_is_finished(started) != 0 }
        var connection: OpaquePointer?
        var error: UnsafeMutablePointer<GError>?
        let outcome = tokenkeep_connecting_end(started, &connection, &error)
        if outcome == 0, let connection {
            return BusConnection(connection, in: context, breaker: breaker, observers: observers)
        }
        switch outcome {
        case ECONNREFUSED: throw failure(error)
        case ETIMEDOUT:
            if !deadline.isCancelled, patience.hasPassed { breaker.open(unanswered: []) { nil } }
            throw deadline.failure("the message bus did not answer in time")
        default: throw notBegun(outcome)
        }
    }

    private static func notBegun(_ error: Int32) -> TokenKeepError {
        switch error {
        case EMFILE: DescriptorSupply.isShort
        case ENOTRECOVERABLE:
            TokenKeepError(.io, "GLib could not start its thread for the message bus", hint: "start the program again")
        case EAGAIN:
            TokenKeepError(
                .io, "the system starts no thread to talk to the Secret Service",
                hint: "end some programs, or raise the limit of processes (ulimit -u)")
        default: TokenKeepError(.unavailable, "GLib met a fatal error while it connected to the session bus")
        }
    }

    /// The error for a failed connection. The error is an absence only if nothing listens at the address.
    ///
    /// Only an absence contains GLib's message, because any other message may repeat text that came from the bus.
    private static func failure(_ error: UnsafeMutablePointer<GError>?) -> TokenKeepError {
        defer { GLibrary.drop(error) }
        let (notFound, invalidAddress, tooManyOpenFiles, connectionRefused): (Int32, Int32, Int32, Int32) = (
            1, 13, 31, 39
        )
        let code = error.flatMap { $0.pointee.domain == glib.pointee.g_io_error_quark() ? $0.pointee.code : nil }
        if code == tooManyOpenFiles { return DescriptorSupply.isShort }
        guard let error = error?.pointee, [notFound, invalidAddress, connectionRefused].contains(code) else {
            return TokenKeepError(.unavailable, "the session bus does not let this process in")
        }
        return TokenKeepError(
            .unavailable, "there is no session bus at its address: \(GLibrary.printable(error.message))",
            isAbsence: true)
    }
}
