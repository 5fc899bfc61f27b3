/// A question from TokenKeep to the user.
public struct Prompt: Sendable {
    /// The object of the question. The raw values are those of the C API.
    public enum Kind: UInt32, Sendable {
        /// The vault's password.
        case password = 1
        /// A new password.
        case newPassword = 2
        /// A recovery code.
        case recovery = 3
    }

    /// The object of the question.
    public let kind: Kind
    /// The number of the attempt: 1, then one more after each wrong answer.
    public let attempt: UInt32
    /// The question, for people.
    public let message: String
    /// The item for which a call needs the answer.
    public let item: ItemName

    /// Asks for something.
    public init(kind: Kind, attempt: UInt32, message: String, item: ItemName) {
        self.kind = kind
        self.attempt = attempt
        self.message = message
        self.item = item
    }
}

/// Answers a prompt. Called on the thread of the call, without any lock held.
///
/// Throws ``Status/cancelled`` if the user dismisses the prompt.
public typealias PromptHandler = @Sendable (Prompt) throws(TokenKeepError) -> SecretBytes
