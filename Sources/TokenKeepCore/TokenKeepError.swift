/// Why a call failed: a status, what happened in words, the module it happened in, and what to do about it.
///
/// Two errors are equal when their statuses are: the words are for people. No text ever holds a secret, nor a part or
/// a hash of one.
public struct TokenKeepError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What the call came to; never ``Status/ok``.
    public let status: Status
    /// What happened, to which item: one line, lower case, without a final period.
    public let message: String
    /// The module it happened in, where it was one module's doing.
    public var module: String?
    /// What the user can do, where there is something to do: one line.
    public let hint: String?
    /// Whether the module is not there at all on this machine, rather than there and out of reach.
    public let isAbsence: Bool
    /// Of a call that was cancelled: whether the module certainly did nothing. Otherwise what was sent may arrive.
    public var changedNothing = false
    /// Of ``Status/locked``: whether nothing is locked, and the module's user must be asked before an item is deleted.
    public var asksBeforeDeleting = false

    /// Makes an error of a status and the words that explain it.
    public init(
        _ status: Status, _ message: String, module: String? = nil, hint: String? = nil, isAbsence: Bool = false
    ) {
        self.status = status
        self.message = message
        self.module = module
        self.hint = hint
        self.isAbsence = isAbsence
    }

    /// The same error, said to be of `module` unless it already names one.
    public func inModule(_ module: String) -> TokenKeepError {
        var copy = self
        copy.module = copy.module ?? module
        return copy
    }

    /// Compares statuses alone.
    public static func == (left: TokenKeepError, right: TokenKeepError) -> Bool {
        left.status == right.status
    }

    /// `STATUS: message (module)`.
    public var description: String {
        let place = module.map { " (\($0))" } ?? ""
        return "\(status.name): \(message)\(place)"
    }
}
