import TokenKeepCore

/// The permission to send a refresh token. It is given after the note says durably that the token is about to be sent.
final class SendingPermit: Sendable {
    /// The result of writing the note.
    enum Outcome {
        /// The note was not written, so nothing was sent.
        case notBegun
        case noted
        /// The session has ended, or another session has begun, so the token must not be sent.
        case sessionChanged
        case failed(TokenKeepError)
    }

    private let state = MutexGuarded(Outcome.notBegun)
    private let cut = MutexGuarded<SecretBytes?>(nil)
    private let write: @Sendable () throws(TokenKeepError) -> Bool

    /// - Parameter write: writes the note; returns false if the session was changed.
    init(_ write: @escaping @Sendable () throws(TokenKeepError) -> Bool) { self.write = write }

    var outcome: Outcome { state.withLock { $0 } }

    /// The received bytes of an answer that was cut off; nil if no answer was cut off.
    var cutAnswer: SecretBytes? { cut.withLock { $0 } }
    func keep(cutAnswer: SecretBytes) { cut.withLock { $0 = cutAnswer } }

    /// Writes the note at the first call. Later calls repeat the first call's result or error.
    ///
    /// - Throws: an error if the token must not be sent; ``outcome`` has the reason.
    func begin() throws(TokenKeepError) {
        switch outcome {
        case .notBegun: break
        case .noted: return
        case .failed(let error): throw error
        case .sessionChanged: throw SendingPermit.changed
        }
        do throws(TokenKeepError) {
            let isNoted = try write()
            state.withLock { $0 = isNoted ? .noted : .sessionChanged }
            guard !isNoted else { return }
        } catch {
            state.withLock { $0 = .failed(error) }
            throw error
        }
        throw SendingPermit.changed
    }

    private static let changed = TokenKeepError(.conflict, "the session was changed meanwhile")
}
