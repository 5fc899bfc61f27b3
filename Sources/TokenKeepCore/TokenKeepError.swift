/// The error of a failed call: status, message, module and hint.
///
/// Errors are equal if their statuses are equal: the texts are for people. No text ever contains a secret, a part of a
/// secret or a hash of one.
public struct TokenKeepError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The result of the call; never ``Status/ok``.
    public let status: Status
    /// The failure and its item: one line, lower case, without a final period.
    public let message: String
    /// The module that failed; nil if the error is not one module's.
    public var module: String?
    /// Advice for the user, one line; nil if there is none.
    public let hint: String?
    /// Whether the module does not exist on this machine. False if it exists but is unavailable.
    public let isAbsence: Bool
    /// Whether a module certainly did nothing before the call was cancelled. If false, a sent change may still arrive.
    public var changedNothing = false
    /// Whether ``Status/locked`` only means that the module asks its user before it deletes an item.
    public var asksBeforeDeleting = false

    /// An error with a status and texts.
    public init(
        _ status: Status, _ message: String, module: String? = nil, hint: String? = nil, isAbsence: Bool = false
    ) {
        self.status = status
        self.message = message
        self.module = module
        self.hint = hint
        self.isAbsence = isAbsence
    }

    /// A copy that names `module`, unless the error already names a module.
    public func inModule(_ module: String) -> TokenKeepError {
        var copy = self
        copy.module = copy.module ?? module
        return copy
    }

    /// The error of a step after a change took effect: ``Status/io`` in place of ``Status/denied``, which would mean that
    /// nothing has changed.
    package var afterEffect: TokenKeepError {
        status == .denied ? TokenKeepError(.io, message, module: module, hint: hint) : self
    }

    /// Compares only the statuses.
    public static func == (left: TokenKeepError, right: TokenKeepError) -> Bool {
        left.status == right.status
    }

    /// `STATUS: message (module)`.
    public var description: String {
        let place = module.map { " (\($0))" } ?? ""
        return "\(status.name): \(message)\(place)"
    }
}
