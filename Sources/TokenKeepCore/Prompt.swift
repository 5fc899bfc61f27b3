/// A question of TokenKeep's own to the user.
public struct Prompt: Sendable {
    /// What is asked for. The numbers are those of the C API.
    public enum Kind: UInt32, Sendable {
        /// The vault's password.
        case password = 1
        /// A password to be.
        case newPassword = 2
        /// A recovery code.
        case recovery = 3
    }

    /// What is asked for.
    public let kind: Kind
    /// 1, then 2 after a wrong answer, and so on.
    public let attempt: UInt32
    /// The question, for people.
    public let message: String
    /// The item that a call needs the answer for.
    public let item: ItemName

    /// Asks for something.
    public init(kind: Kind, attempt: UInt32, message: String, item: ItemName) {
        self.kind = kind
        self.attempt = attempt
        self.message = message
        self.item = item
    }
}

/// Answers a prompt, on the thread of the call that needs the answer, with no lock held; throws ``Status/cancelled`` where
/// the user dismisses it.
public typealias PromptHandler = @Sendable (Prompt) throws(TokenKeepError) -> SecretBytes
