package import TokenKeepCore

/// The reason why a device does not give its secret.
package struct DeviceFault: Error, Equatable, Sendable {
    /// The kind of a fault, by which the user learns whether to wait.
    package enum Kind: String, Sendable {
        /// The device did not answer in time.
        case silent
        /// There is no such device here.
        case absent
        /// A device answers that is not the vault's, or that lost the vault's secret.
        case other
    }

    package let kind: Kind
    /// The reason, as a sentence without a full stop.
    package let reason: String

    package init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// The error of a change that needs the device's secret. Nothing was changed.
    package var error: TokenKeepError {
        TokenKeepError(
            .unavailable, "\(reason); nothing was changed", module: "vault",
            hint: kind == .other
                ? "if that device is gone for good: tokenkeep device re-bind --destroy-items"
                : "see tokenkeep device show")
    }
}
