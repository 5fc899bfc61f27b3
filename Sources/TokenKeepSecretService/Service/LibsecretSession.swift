internal import CLibsecret
import TokenKeepCore

/// A session of libsecret, for a libsecret that does not use libgcrypt.
final class LibsecretSession: SessionCoding, @unchecked Sendable {
    let path: ObjectPath
    let isEncrypted: Bool
    private let service: OpaquePointer
    private let coding = MutexGuarded<Void>(())
    /// The context in which GLib reports to the service object that the service ended. The object and the context hold
    /// references to each other until GLib has reported the end.
    private let construction: OpaquePointer?

    /// Opens a session.
    ///
    /// - Parameter whenReady: runs right before the request for the session.
    init(
        over connection: BusConnection, of owner: String, _ context: borrowing MainContext, until deadline: Deadline,
        whenReady: () -> Void
    ) throws(TokenKeepError) {
        guard let service = tokenkeep_secret_service_new(connection.pointer, owner) else {
            throw TokenKeepError(.internal, "libsecret made no service object")
        }
        do throws(TokenKeepError) {
            path = try LibsecretSession.openSession(
                service, context, of: owner, over: connection, until: deadline, whenReady: whenReady)
        } catch {
            glib.pointee.g_object_unref(UnsafeMutableRawPointer(service))
            throw error
        }
        construction = context.retained()
        self.service = service
        let algorithms = glib.pointee.secret_service_get_session_algorithms(service).map { String(cString: $0) }
        isEncrypted = algorithms != "plain"
    }

    deinit {
        guard ForkGuard.allows else { return }
        do {
            let context = MainContext(entering: construction)
            glib.pointee.g_object_unref(UnsafeMutableRawPointer(service))
            context.deliver(atMost: 32) { false }
        }
        glib.pointee.g_main_context_unref(construction)
    }

    private static func openSession(
        _ service: OpaquePointer, _ context: borrowing MainContext, of owner: String, over connection: BusConnection,
        until deadline: Deadline, whenReady: () -> Void
    ) throws(TokenKeepError) -> ObjectPath {
        let isInitialised = try complete(context, until: deadline, connection, owner) { pending in
            glib.pointee.g_async_initable_init_async(
                service, 0, pending.cancellable, pendingCallback, pending.callbackData)
        } finish: { result, error in
            glib.pointee.g_async_initable_init_finish(service, result, error)
        }
        // KWallet before 6.25 refuses a client key that begins with a zero byte. A second attempt has new keys.
        var hasSession = false
        if isInitialised { whenReady() }
        for _ in 0..<2 where isInitialised && !hasSession {
            hasSession = try complete(context, until: deadline, connection, owner) { pending in
                glib.pointee.secret_service_ensure_session(
                    service, pending.cancellable, pendingCallback, pending.callbackData)
            } finish: { result, error in
                glib.pointee.secret_service_ensure_session_finish(service, result, error)
            }
        }
        guard hasSession else {
            connection.noteLoss()
            throw TokenKeepError(.unavailable, "the Secret Service opened no session")
        }
        guard let path = glib.pointee.secret_service_get_session_dbus_path(service).map({ String(cString: $0) }),
            let session = ObjectPath(path)
        else { throw TokenKeepError(.corrupt, "the Secret Service opened a session without a path") }
        return session
    }

    /// Runs one asynchronous function of libsecret. Returns whether the function succeeded.
    private static func complete(
        _ context: borrowing MainContext, until deadline: Deadline, _ connection: BusConnection, _ owner: String,
        start: (Pending<Bool>) -> Void,
        finish: @escaping (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> Int32
    ) throws(TokenKeepError) -> Bool {
        let pending = Pending<Bool> { _, result in
            var error: UnsafeMutablePointer<GError>?
            let hasSession = finish(result, &error) != 0
            GLibrary.drop(error)
            return hasSession
        }
        let patience = Deadline(milliseconds: BusConnection.hasty)
        start(pending)
        guard context.run(until: deadline, { pending.isDone }) else {
            glib.pointee.g_cancellable_cancel(pending.cancellable)
            if !deadline.isCancelled, patience.hasPassed { connection.noteSilence(of: owner) }
            context.deliver(atMost: 32) { pending.isDone }
            throw BusConnection.late(deadline)
        }
        return pending.result == true
    }

    /// See ``SessionCoding``. Wipes the copies in libsecret's memory.
    func encode(_ secret: SecretBytes) throws(TokenKeepError) -> Variant {
        let encoded = coding.withLock { _ -> Variant? in
            secret.withUnsafeBytes { bytes in
                let value = glib.pointee.secret_value_new(
                    bytes.bindMemory(to: CChar.self).baseAddress, bytes.count, "text/plain")
                defer { glib.pointee.secret_value_unref(UnsafeMutableRawPointer(value)) }
                return Variant(taking: glib.pointee.secret_service_encode_dbus_secret(service, value))
            }
        }
        guard let encoded else { throw TokenKeepError(.internal, "libsecret could not encode the secret") }
        return encoded
    }

    /// See ``SessionCoding``. Wipes the copies in libsecret's memory.
    func decode(_ encoded: Variant) throws(TokenKeepError) -> SecretBytes? {
        let value = coding.withLock { _ in
            glib.pointee.secret_service_decode_dbus_secret(service, encoded.pointer)
        }
        guard let value else { return nil }
        defer { glib.pointee.secret_value_unref(UnsafeMutableRawPointer(value)) }
        var length = 0
        let bytes = glib.pointee.secret_value_get(value, &length)
        return try SecretBytes(
            copying: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length))
    }
}
