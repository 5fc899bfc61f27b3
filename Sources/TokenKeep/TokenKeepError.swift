// FoundationEssentials is imported for LocalizedError. libtokenkeep.so does not link this target, and so links no
// Foundation.
public import FoundationEssentials
package import TokenKeepCore

/// The error of a failed call: status, message, module and recovery suggestion.
///
/// No text contains a secret, a part of a secret or the hash of a secret. A `catch` clause can name a status:
///
/// ```swift
/// do {
///     let item = try await store.load(service: "example.com", account: "ann")
/// } catch TokenKeepError.Status.notFound {
///     // sign in
/// }
/// ```
public struct TokenKeepError: LocalizedError, Sendable, CustomStringConvertible {
    /// The result of the call; never ``Status/ok``.
    public let status: Status
    /// A description of the failure that names its item: one line, lower case, without a final period.
    public let message: String
    /// The module that failed; nil if the error does not concern one module.
    public let module: String?
    /// One line of advice for the user; nil if there is none.
    public let recoverySuggestion: String?

    /// Makes an error, for prompt handlers and for an application's tests.
    public init(_ status: Status, _ message: String, module: String? = nil, recoverySuggestion: String? = nil) {
        self.status = status
        self.message = message
        self.module = module
        self.recoverySuggestion = recoverySuggestion
    }

    init(_ core: CoreError) {
        self.init(Status(core.status), core.message, module: core.module, recoverySuggestion: core.hint)
    }

    var core: CoreError {
        CoreError(status.core, message, module: module, hint: recoverySuggestion)
    }

    /// The text `message (module)`, which Foundation's `localizedDescription` returns.
    public var errorDescription: String? { message + place }

    /// The text `STATUS: message (module)`.
    public var description: String { "\(status.name): \(message)\(place)" }

    private var place: String { module.map { " (\($0))" } ?? "" }
}

/// The engine's error type, which the functions of this module convert to ``TokenKeepError``.
package typealias CoreError = TokenKeepCore.TokenKeepError

/// Runs a call of the engine, and converts the engine's error to ``TokenKeepError``.
package func convertingError<Value>(_ body: () throws(CoreError) -> Value) throws(TokenKeepError) -> Value {
    do throws(CoreError) {
        return try body()
    } catch {
        throw TokenKeepError(error)
    }
}
