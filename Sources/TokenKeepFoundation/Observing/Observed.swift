public import Foundation
public import TokenKeep

/// An observed value of a session, or the reason why there is no value.
public enum Observed<Value: Sendable>: Sendable {
    /// The value, and the time at which the server last accepted a token of the session; the time is nil if unknown.
    case available(Value, Date?)
    /// The value is not available now.
    case unavailable(UnavailableReason)

    /// The value; nil if the value is not available.
    public var value: Value? {
        guard case .available(let value, _) = self else { return nil }
        return value
    }
}

extension Observed: Equatable where Value: Equatable {}

/// The reason why a value is not available.
public enum UnavailableReason: Sendable, Equatable {
    /// A user or a guest is signed in, but the application has set no value.
    case missing
    /// The module that holds the session is locked.
    case locked
    /// A module that may hold the session cannot be reached.
    case unknown
    /// Nobody is signed in. The value is the reason why the last session ended; `none` if nobody has ever signed in.
    case ended(TokenSession.Reason)
}
