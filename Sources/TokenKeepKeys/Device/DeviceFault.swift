package import TokenKeepCore

/// The reason why a device does not provide its secret.
package struct DeviceFault: Error, Equatable, Sendable {
    /// The kind of a fault, which tells the user whether to wait or to act.
    package enum Kind: String, Sendable {
        /// The device gave no usable answer in time. A later request may succeed.
        case silent
        /// This machine has no such device.
        case absent
        /// A device answered, but it is not the vault's device, or has lost the vault's secret.
        case other
    }

    package let kind: Kind
    /// The reason, as a sentence without a full stop.
    package let reason: String
    /// The command that may repair the device; nil if none is known.
    package let remedy: String?

    package init(_ kind: Kind, _ reason: String, remedy: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.remedy = remedy
    }

    /// Whether the device may provide its secret later: the device is present, or a remedy is known.
    package var mayBeMended: Bool { kind != .absent || remedy != nil }

    /// The error of a change that needs the device's secret. The error's message says that nothing was changed.
    package var error: TokenKeepError {
        TokenKeepError(
            .unavailable, "\(reason); nothing was changed", module: "vault",
            hint: remedy
                ?? (kind == .other
                    ? "if that device is gone for good: tokenkeep device re-bind --destroy-items"
                    : "see tokenkeep device show"))
    }

    /// Calls `body`, which fails only for lack of memory, and converts this error to a fault.
    static func needing<Result>(_ body: () throws(TokenKeepError) -> Result) throws(DeviceFault) -> Result {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            throw DeviceFault(.silent, error.message)
        }
    }
}
