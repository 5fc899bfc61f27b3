/// The error of a failed call: status, message, module and hint.
///
/// Errors are equal if their statuses are equal, because the texts are for people only. No text contains a secret, a
/// part of it or its hash.
public struct TokenKeepError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status of the call, never ``Status/ok``.
    public let status: Status
    /// A description of the failure and its item: one line, lower case, without a final period.
    public let message: String
    /// The module that failed; nil if no single module failed.
    public var module: String?
    /// Advice for the user, one line; nil if there is none.
    public let hint: String?
    /// Whether the module does not exist on this machine. False if the module exists but is unavailable.
    public let isAbsence: Bool
    /// Whether the module certainly made no change before the call ended.
    ///
    /// If false, the module may still apply the change that it received.
    public var changedNothing = false
    /// Whether ``Status/locked`` means only that the module must prompt its user before it deletes an item.
    public var asksBeforeDeleting = false
    /// Whether the module counts as absent because its service is a provider that serves this vault itself.
    package var isOwnVault = false
    /// Whether ``Status/io`` means a temporary lack of memory, threads or descriptors, not a failure of the disk.
    package var isShortage = false

    /// Makes an error with a status and its texts.
    public init(
        _ status: Status, _ message: String, module: String? = nil, hint: String? = nil, isAbsence: Bool = false
    ) {
        self.status = status
        self.message = message
        self.module = module
        self.hint = hint
        self.isAbsence = isAbsence
    }

    /// The error ``Status/io`` for a lack of memory, threads or descriptors.
    package static func shortage(_ message: String, module: String? = nil, hint: String? = nil) -> TokenKeepError {
        var error = TokenKeepError(.io, message, module: module, hint: hint)
        error.isShortage = true
        return error
    }

    /// A copy of this error that names `module`, unless the error already names a module.
    public func inModule(_ module: String) -> TokenKeepError {
        var copy = self
        copy.module = copy.module ?? module
        return copy
    }

    /// Compares only the errors' statuses, not their texts.
    public static func == (left: TokenKeepError, right: TokenKeepError) -> Bool {
        left.status == right.status
    }

    /// The error in one line: `STATUS: message (module)`.
    public var description: String {
        let place = module.map { " (\($0))" } ?? ""
        return "\(status.name): \(message)\(place)"
    }
}
