internal import CLibsecret
import Synchronization
import TokenKeepCore

/// A session with one running Secret Service, which is identified by its unique bus name.
///
/// libsecret encrypts the secrets for the bus. When the service ends, the link is lost, and a new service needs a new
/// link.
final class ServiceLink: @unchecked Sendable {
    let connection: BusConnection
    /// The service's unique name on the bus.
    let owner: String
    /// The session's object path, which is part of every secret on the bus.
    let session: ObjectPath
    /// Whether secrets are encrypted on the bus, under a session key that both ends must share.
    let isEncrypted: Bool
    private let service: OpaquePointer
    private let coding = MutexGuarded<Void>(())
    private let proven = Atomic<Bool>(false)
    private let refused = Atomic<Bool>(false)
    private let keePassXC = MutexGuarded<Bool?>(nil)
    private let sessionCollection = MutexGuarded<Bool?>(nil)
    /// The context in which GLib reports to the service object that the service ended.
    ///
    /// The object and the context hold references to each other until that report.
    private let construction: OpaquePointer?

    /// The cached paths and properties of items on this service.
    let paths = PathCache()

    var isLost: Bool { connection.isLost }

    /// Whether a decrypted secret has proven that both ends have the same session key.
    var isProven: Bool { !isEncrypted || proven.load(ordering: .relaxed) }

    /// Records that both ends have the same session key.
    func prove() { proven.store(true, ordering: .relaxed) }

    /// Makes `deinit` close the session, because the two ends may have different session keys.
    func refuse() { refused.store(true, ordering: .relaxed) }

    /// The number of change signals received; nil unless the service is known to signal every change.
    var itemChanges: UInt64? { connection.watch.itemChanges }

    /// Whether the service has signalled no new or changed item since this entry was read.
    ///
    /// If true, the item is unchanged or deleted, and no other item of the same name was made. False if the service
    /// does not signal changes.
    func isUntouched(_ entry: PathCache.Entry) -> Bool {
        entry.item != nil && entry.changes != nil && entry.changes == itemChanges && !entry.freshUntil.hasPassed
    }

    /// Finds the service, or lets the bus start it, and opens a session.
    ///
    /// - Parameters:
    ///   - search: the searches to send while the service opens the session, so that the first call waits only once.
    ///   - ownVault: the identifier of this store's vault, whose provider is refused as a service; nil without a vault.
    /// - Throws: ``Status/unavailable`` if the service cannot be used, as an absence if there is no service;
    ///   ``Status/timedOut``; ``Status/cancelled``.
    init(
        over connection: BusConnection, searching search: EarlySearch?, besides ownVault: String? = nil,
        until deadline: Deadline
    ) throws(TokenKeepError) {
        self.connection = connection
        let found = try ServiceOwner.find(over: connection, ownVault: ownVault, until: deadline)
        owner = found.name
        connection.watch.use(owner: owner, tells: found.tells)
        // Refuse a provider of this vault before it gets any query. Otherwise a provider that does not answer would
        // count as a service that missed a change, although it serves the vault itself.
        if found.isOwnVault { throw ServiceOwner.ownVault }
        if found.isProvider, let ownVault,
            try ServiceOwner.vaultID(of: owner, over: connection, until: deadline) == ownVault
        {
            throw ServiceOwner.ownVault
        }
        try connection.checkMark(of: owner, until: deadline)
        let context = try MainContext()
        guard let service = tokenkeep_secret_service_new(connection.pointer, owner) else {
            throw TokenKeepError(.internal, "libsecret made no service object")
        }
        do throws(TokenKeepError) {
            session = try ServiceLink.openSession(service, context, of: owner, over: connection, until: deadline) {
                search?.start(over: connection, of: found.name)
            }
            try search?.finish(over: connection, in: context, until: deadline)
        } catch {
            search?.cancel(over: connection)
            glib.pointee.g_object_unref(UnsafeMutableRawPointer(service))
            context.deliver(atMost: 32) { false }
            throw error
        }
        construction = context.retained()
        self.service = service
        let algorithms = glib.pointee.secret_service_get_session_algorithms(service).map { String(cString: $0) }
        isEncrypted = algorithms != "plain"
    }

    deinit {
        guard ForkGuard.allows else { return }
        if refused.load(ordering: .relaxed), !isLost {
            connection.post(
                MethodCall(
                    destination: owner, path: session, interface: "org.freedesktop.Secret.Session", member: "Close",
                    answerType: "()"))
        }
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
        // KWallet before 6.25 refuses a client key that begins with a zero byte. A second attempt uses new keys.
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

    /// Runs one asynchronous function of libsecret, and returns whether the function succeeded.
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

    /// Encrypts a secret for the service. Wipes the copies in libsecret's memory.
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

    /// Decrypts a secret from the service, a value of type `(oayays)`. Wipes the copies in libsecret's memory.
    ///
    /// - Throws: ``Status/corrupt`` if the secret belongs to another session, is truncated or exceeds the limit.
    func decode(_ encoded: Variant) throws(TokenKeepError) -> SecretBytes {
        guard encoded.isOf(type: "(oayays)"), encoded[0].text == session.text else {
            throw TokenKeepError(.corrupt, "the Secret Service sent a secret of another session")
        }
        guard encoded[2].count <= StoredValue.largest + 16 else {
            throw TokenKeepError(
                .corrupt, "the Secret Service sent a secret that is larger than \(Limits.secret) bytes")
        }
        let isWhole =
            isEncrypted
            ? encoded[1].count == 16 && encoded[2].count > 0 && encoded[2].count % 16 == 0 : encoded[1].count == 0
        let value =
            isWhole
            ? coding.withLock { _ in glib.pointee.secret_service_decode_dbus_secret(service, encoded.pointer) } : nil
        guard let value else { throw TokenKeepError(.corrupt, "the Secret Service sent a secret that is cut off") }
        defer { glib.pointee.secret_value_unref(UnsafeMutableRawPointer(value)) }
        var length = 0
        let bytes = glib.pointee.secret_value_get(value, &length)
        return try SecretBytes(
            copying: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length))
    }

    /// Whether the service has a session collection; nil before ``noteSessionCollection(_:)`` was called.
    var hasSessionCollection: Bool? { sessionCollection.withLock { $0 } }

    func noteSessionCollection(_ isThere: Bool) { sessionCollection.withLock { $0 = isThere } }

    /// Whether the service is KeePassXC, which also owns another bus name. Queries the bus once for each link.
    func isKeePassXC(until deadline: Deadline) throws(TokenKeepError) -> Bool {
        if let known = keePassXC.withLock({ $0 }) { return known }
        let answer = try ServiceOwner.isNamed(
            "org.keepassxc.KeePassXC.MainWindow", owner: owner, over: connection, until: deadline)
        keePassXC.withLock { $0 = answer }
        return answer
    }

    /// Sends calls to the service and waits for the replies.
    func exchange(_ calls: [MethodCall], until deadline: Deadline) throws(TokenKeepError) -> [Reply] {
        try connection.exchange(calls, until: deadline)
    }
}
