import Synchronization
import TokenKeepCore

/// A session with one running Secret Service, which is identified by its unique bus name.
///
/// The session encrypts the secrets on the bus (``SessionCoding``).
///
/// When the service ends, the link is lost. A new service needs a new link.
final class ServiceLink: @unchecked Sendable {
    let connection: BusConnection
    /// The service's unique name on the bus.
    let owner: String
    /// The session's object path, which is part of every secret on the bus.
    var session: ObjectPath { coding.path }
    /// Whether secrets are encrypted on the bus, under a session key that both ends must share.
    var isEncrypted: Bool { coding.isEncrypted }
    private let coding: any SessionCoding
    private let proven = Atomic<Bool>(false)
    private let refused = Atomic<Bool>(false)
    private let keePassXC = MutexGuarded<Bool?>(nil)
    private let sessionCollection = MutexGuarded<Bool?>(nil)

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
    ///   - search: sent while the service opens the session, so that the first call waits only once.
    ///   - ownVault: the identifier of this vault: a provider of it is no service; nil without a vault.
    ///   - usesLibsecret: whether libsecret agrees on the session's key, as it does if it does not use libgcrypt.
    /// - Throws: ``Status/unavailable`` if the service cannot be used, as an absence if there is no service;
    ///   ``Status/timedOut``; ``Status/cancelled``.
    init(
        over connection: BusConnection, searching search: EarlySearch?, besides ownVault: String? = nil,
        usesLibsecret: Bool = !SessionKeys.areUsable, until deadline: Deadline
    ) throws(TokenKeepError) {
        self.connection = connection
        let found = try ServiceOwner.find(over: connection, ownVault: ownVault, until: deadline)
        owner = found.name
        connection.watch.use(owner: owner, tells: found.tells)
        // Refuse a provider of this vault before any query to it: if it does not answer, it must not count as a service
        // that missed a change.
        if found.isOwnVault { throw ServiceOwner.ownVault }
        if found.isProvider, let ownVault,
            try ServiceOwner.vaultID(of: owner, over: connection, until: deadline) == ownVault
        {
            throw ServiceOwner.ownVault
        }
        try connection.checkMark(of: owner, until: deadline)
        let context = try MainContext()
        let begin: () -> Void = { search?.start(over: connection, of: found.name) }
        do throws(TokenKeepError) {
            if usesLibsecret {
                coding = try LibsecretSession(over: connection, of: owner, context, until: deadline, whenReady: begin)
            } else {
                coding = try OwnSession(over: connection, of: owner, context, until: deadline, whenReady: begin)
            }
            try search?.finish(over: connection, in: context, until: deadline)
        } catch {
            search?.cancel(over: connection)
            context.deliver(atMost: 32) { false }
            throw error
        }
    }

    deinit {
        guard ForkGuard.allows else { return }
        if refused.load(ordering: .relaxed), !isLost {
            connection.post(
                MethodCall(
                    destination: owner, path: session, interface: "org.freedesktop.Secret.Session", member: "Close",
                    answerType: "()"))
        }
    }

    /// Encodes a secret for the service.
    func encode(_ secret: SecretBytes) throws(TokenKeepError) -> Variant { try coding.encode(secret) }

    /// Decodes a secret from the service, a value of type `(oayays)`.
    ///
    /// - Throws: ``Status/corrupt`` if the secret belongs to another session, is cut off or exceeds the limit.
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
        guard isWhole, let secret = try coding.decode(encoded) else {
            throw TokenKeepError(.corrupt, "the Secret Service sent a secret that is cut off")
        }
        return secret
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
