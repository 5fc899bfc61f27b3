/// A question from TokenKeep to the user.
public struct Prompt: Sendable {
    /// The secret that the user is asked for. The raw values are those of the C API.
    public enum Kind: UInt32, Sendable {
        /// The vault's current password.
        case password = 1
        /// A new password for the vault.
        case newPassword = 2
        /// The vault's recovery code.
        case recovery = 3
    }

    /// The secret that the user is asked for.
    public let kind: Kind
    /// The number of the attempt: 1 for the first question, 1 more after each wrong answer.
    public let attempt: UInt32
    /// The question, as a sentence for the user.
    public let message: String
    /// The item for which the answer is needed.
    public let item: ItemName

    /// Makes a question to the user.
    public init(kind: Kind, attempt: UInt32, message: String, item: ItemName) {
        self.kind = kind
        self.attempt = attempt
        self.message = message
        self.item = item
    }
}

/// Answers a prompt (a question to the user), for example by showing a dialog.
///
/// Runs on the thread of the call that needs the answer. The call holds no lock while it waits for the answer.
///
/// Throws ``Status/cancelled`` if the user dismisses the prompt.
public typealias PromptHandler = @Sendable (Prompt) throws(TokenKeepError) -> SecretBytes
