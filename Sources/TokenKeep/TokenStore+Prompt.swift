import TokenKeepCore

extension TokenStore {
    /// A question from TokenKeep to the user.
    public struct Prompt: Sendable {
        /// The kind of secret that the prompt asks for. The raw values are those of the C API.
        public enum Kind: UInt32, Sendable {
            /// The vault's password.
            case password = 1
            /// A new password.
            case newPassword = 2
            /// A recovery code.
            case recovery = 3
        }

        /// The kind of secret that the prompt asks for.
        public let kind: Kind
        /// The number of the attempt, which starts at 1 and grows by 1 after each wrong answer.
        public let attempt: Int
        /// The question, for people.
        public let message: String
        /// The item that can be accessed only after the user has answered the prompt.
        public let item: TokenItem.Name

        init(_ core: TokenKeepCore.Prompt) {
            kind =
                switch core.kind {
                case .password: .password
                case .newPassword: .newPassword
                case .recovery: .recovery
                }
            attempt = Int(core.attempt)
            message = core.message
            item = TokenItem.Name(core: core.item)
        }
    }

    /// Returns the answer to a prompt; nil if the user dismisses the prompt.
    ///
    /// The store calls the handler on one of its own threads and holds no lock during the call. A ``TokenKeepError``
    /// becomes the error of the call. After any other error the prompt counts as dismissed.
    public typealias PromptHandler = @Sendable (Prompt) throws -> Secret?

    /// Converts a prompt handler to a handler of the engine.
    static func engineHandler(_ handler: @escaping PromptHandler) -> TokenKeepCore.PromptHandler {
        { prompt throws(CoreError) in
            let answer: Secret?
            do {
                answer = try handler(Prompt(prompt))
            } catch let error as TokenKeepError {
                throw error.core
            } catch {
                answer = nil
            }
            guard let answer else { throw CoreError(.cancelled, "the prompt was dismissed") }
            return answer.core
        }
    }
}
