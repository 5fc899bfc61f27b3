package import TokenKeepCore

/// The reason why a device does not give its secret.
package struct DeviceFault: Error, Equatable, Sendable {
    /// The kind of a fault, by which the user learns whether to wait.
    package enum Kind: String, Sendable {
        /// The device gave no usable answer in time. A later one may be.
        case silent
        /// There is no such device here.
        case absent
        /// A device answers that is not the vault's, or that lost the vault's secret.
        case other
    }

    package let kind: Kind
    /// The reason, as a sentence without a full stop.
    package let reason: String
    /// The command that makes the device answer; nil if none is known.
    package let remedy: String?

    package init(_ kind: Kind, _ reason: String, remedy: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.remedy = remedy
    }

    /// Whether the device is there, so that it may answer later or after a remedy.
    package var mayBeMended: Bool { kind != .absent || remedy != nil }

    /// The error of a change that needs the device's secret. Nothing was changed.
    package var error: TokenKeepError {
        TokenKeepError(
            .unavailable, "\(reason); nothing was changed", module: "vault",
            hint: remedy
                ?? (kind == .other
                    ? "if that device is gone for good: tokenkeep device re-bind --destroy-items"
                    : "see tokenkeep device show"))
    }

    /// Calls `body`, whose errors are a lack of this process's memory.
    static func needing<Result>(_ body: () throws(TokenKeepError) -> Result) throws(DeviceFault) -> Result {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            throw DeviceFault(.silent, error.message)
        }
    }
}
