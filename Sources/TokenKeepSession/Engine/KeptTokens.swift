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
    /// The key that must be open for the token to be used; nil if the token needs no key.
    let sealingKey: ResidentKey?

    init(_ access: AccessToken, generation: UInt64, sealingKey: ResidentKey?) {
        value = access.value
        provider = access.provider
        scope = access.scope
        life = access.life
        self.generation = generation
        self.sealingKey = sealingKey
    }

    /// The token as a session returns it.
    func token(at now: SessionTime, for target: TokenTarget?, minTTL: UInt32) -> SessionToken {
        let left = life.left(at: now)
        // No other type is kept. Servers that write "bearer" refuse this word in a header, for example Glewlwyd.
        return SessionToken(
            value: value, type: "Bearer", scope: scope, secondsLeft: left, generation: generation,
            isShort: left.map { $0 < max(1, Int64(minTTL)) } ?? false, target: target, provider: provider,
            lifetime: life.lifetime)
    }
}

/// The tokens that a handle keeps in memory: the sign-in's own token, and the tokens for other targets.
struct KeptTokens {
    /// A token that was read, and the session's change mark at that time.
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
    /// The token if it is good, this object has it in memory, and no process has changed the session since. Two system
    /// calls, no lock of other processes, no request.
    package func tokenInHand(for target: TokenTarget? = nil, minTTL: UInt32) -> SessionToken? {
        guard store.isUsable, let kept = kept.withLock({ $0[target] }), kept.mark == storage.mark else {
            return nil
        }
        let token = kept.token
        // A lock must end the token's use in every process.
        let isReadable = token.sealingKey?.isOpen ?? true
        guard isReadable, token.life.isGood(at: options.clock(), minTTL: Int64(minTTL)) else { return nil }
        return token.token(at: options.clock(), for: target, minTTL: minTTL)
    }
}
