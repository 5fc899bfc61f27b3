import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// A token that a handle keeps.
struct KeptToken: Sendable {
    let value: SecretBytes
    let provider: String?
    let scope: String?
    let generation: UInt64
    let life: TokenLife
    /// The key that must be open for the token to be used; nil if none must.
    let sealingKey: ResidentKey?

    init(_ access: AccessToken, generation: UInt64, sealingKey: ResidentKey?) {
        value = access.value
        provider = access.provider
        scope = access.scope
        life = access.life
        self.generation = generation
        self.sealingKey = sealingKey
    }
}

/// The tokens that a handle keeps: that of the sign-in, and those of targets.
struct KeptTokens {
    /// A token that was read, and the slot's value at that time.
    struct Entry {
        let token: KeptToken
        let slot: UInt64
    }

    private static let mostTargets = 32

    private var main: Entry?
    private var others: [TokenTarget: Entry] = [:]

    subscript(target: TokenTarget?) -> Entry? {
        get { target.map { others[$0] } ?? main }
        set {
            guard let target else { return main = newValue }
            if others.count >= KeptTokens.mostTargets { others.removeAll() }
            others[target] = newValue
        }
    }
}

extension Session {
    /// The kept token, if no other process changed the session since and the token is good.
    func keptToken(_ target: TokenTarget?, minTTL: Int64) -> SessionToken? {
        guard store.isUsable, let kept = kept.withLock({ $0[target] }), kept.slot == slots.value(of: id) else {
            return nil
        }
        let token = kept.token
        guard token.life.isGood(at: options.clock(), minTTL: minTTL), isReadable(token) else { return nil }
        return made(token, target, UInt32(clamping: minTTL))
    }

    /// The token if it is good and this object has it in memory. Two system calls, no lock of other processes, no request.
    package func tokenInHand(minTTL: UInt32) -> SessionToken? { keptToken(nil, minTTL: Int64(minTTL)) }

    /// Whether the class key of a sealed token is still there: a lock must end its use in every process.
    private func isReadable(_ token: KeptToken) -> Bool {
        token.sealingKey?.isOpen ?? true
    }

    /// Keeps a token for later calls, and returns it.
    func keep(
        _ view: SessionView, _ record: SessionRecord, _ target: TokenTarget?, _ minTTL: UInt32
    ) throws(TokenKeepError) -> SessionToken {
        guard let access = try record.access(for: target) else {
            throw TokenKeepError(
                .unavailable, "the token for the resource could not be kept",
                hint: "try again; if it fails again, the session's other tokens fill its record (256 KiB)")
        }
        try requireBearer(access.type)
        let token = KeptToken(access, generation: record.generation, sealingKey: view.sealingKey)
        if let slot = view.slot, view.isKeepable {
            kept.withLock { $0[target] = KeptTokens.Entry(token: token, slot: slot) }
        }
        return made(token, target, minTTL)
    }

    func made(_ token: KeptToken, _ target: TokenTarget?, _ minTTL: UInt32) -> SessionToken {
        let left = token.life.left(at: options.clock())
        // No other type is kept. Servers that write "bearer" refuse this word in a header, for example Glewlwyd.
        return SessionToken(
            value: token.value, type: "Bearer", scope: token.scope, secondsLeft: left, generation: token.generation,
            isShort: left.map { $0 < max(1, Int64(minTTL)) } ?? false, target: target, provider: token.provider)
    }
}
