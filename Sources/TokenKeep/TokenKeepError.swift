// For LocalizedError. libtokenkeep.so does not link this target.
public import FoundationEssentials
package import TokenKeepCore

/// The error of a failed call: status, message, module and recovery suggestion.
///
/// No text contains a secret, a part of a secret or a hash of one. A `catch` clause can name a status:
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
    /// The failure and its item: one line, lower case, without a final period.
    public let message: String
    /// The module that failed; nil if the error is not one module's.
    public let module: String?
    /// Advice for the user, one line; nil if there is none.
    public let recoverySuggestion: String?

    /// Makes an error, for a prompt handler or an application's tests.
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

    /// `message (module)`. Foundation's `localizedDescription` returns this text.
    public var errorDescription: String? { message + place }

    /// `STATUS: message (module)`.
    public var description: String { "\(status.name): \(message)\(place)" }

    private var place: String { module.map { " (\($0))" } ?? "" }
}

/// The error of the engine, which the functions of this module convert.
package typealias CoreError = TokenKeepCore.TokenKeepError

/// Calls the engine, and converts its error.
package func convertingError<Value>(_ body: () throws(CoreError) -> Value) throws(TokenKeepError) -> Value {
    do throws(CoreError) {
        return try body()
    } catch {
        throw TokenKeepError(error)
    }
}
