import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// An access token that a handle keeps in memory.
struct KeptToken: Sendable {
    let value: SecretBytes
    let provider: String?
    let scope: String?
    let generation: UInt64
    let life: TokenLife
    /// The class key that protects the token. The token may be used only while this key is open; nil if no key protects
    /// it.
    let sealingKey: KeyPresence?

    init(_ access: AccessToken, generation: UInt64, sealingKey: KeyPresence?) {
        value = access.value
        provider = access.provider
        scope = access.scope
        life = access.life
        self.generation = generation
        self.sealingKey = sealingKey
    }

    /// Returns the token with its remaining lifetime.
    func token(at now: SessionTime, for target: TokenTarget?, minTTL: UInt32) -> SessionToken {
        let left = life.left(at: now)
        // The type is always written "Bearer": only Bearer tokens are kept, and some servers (Glewlwyd) send the type
        // "bearer" but refuse this spelling in a header.
        return SessionToken(
            value: value, type: "Bearer", scope: scope, secondsLeft: left, generation: generation,
            isShort: left.map { $0 < max(1, Int64(minTTL)) } ?? false, target: target, provider: provider,
            lifetime: life.lifetime)
    }
}

/// The access tokens that a handle keeps in memory: the access token of the sign-in, and one for each target.
struct KeptTokens {
    /// An access token, and the session's change mark when the token was read.
    struct Entry {
        let token: KeptToken
        let mark: UInt64
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

extension SessionEngine {
    /// Returns the access token that the handle keeps in memory; nil if it expires too soon, its key is locked, or the
    /// session was changed since. Makes two system calls; acquires no lock and asks no server.
    package func tokenInHand(for target: TokenTarget? = nil, minTTL: UInt32) -> SessionToken? {
        guard store.isUsable, let kept = kept.withLock({ $0[target] }), kept.mark == storage.mark else {
            return nil
        }
        let token = kept.token
        // After the vault is locked, no process may use the token, so each call checks that the class key is still
        // open.
        let isReadable = token.sealingKey?.isOpen ?? true
        guard isReadable, token.life.isGood(at: options.clock(), minTTL: Int64(minTTL)) else { return nil }
        return token.token(at: options.clock(), for: target, minTTL: minTTL)
    }
}
