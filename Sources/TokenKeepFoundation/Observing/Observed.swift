public import Foundation
public import TokenKeep

/// A value of a session as it is observed: never nil.
public enum Observed<Value: Sendable>: Sendable {
    /// The value, and when the server last accepted a token of the session; nil if it has accepted none yet.
    case available(Value, Date?)
    /// There is no value now.
    case unavailable(UnavailableReason)

    /// The value; nil if there is none now.
    public var value: Value? {
        guard case .available(let value, _) = self else { return nil }
        return value
    }
}

extension Observed: Equatable where Value: Equatable {}

/// The reason why a value is not available.
public enum UnavailableReason: Sendable, Equatable {
    /// A user or a guest is signed in, and the application has set no value.
    case missing
    /// The session is in a locked place.
    case locked
    /// A module that may hold the session cannot be asked.
    case unknown
    /// Nobody is signed in, for this reason; `none` if nobody was.
    case ended(TokenSession.Reason)
}
