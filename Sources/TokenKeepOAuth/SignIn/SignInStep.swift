package import TokenKeepCore

/// The ways in which a user can sign in.
package enum SignInFlow: UInt32, Sendable {
    /// The browser flow if this machine has a browser; otherwise the device flow if the server supports it, or pasting.
    case choose = 0
    /// The server redirects a browser on this machine to a local port (RFC 8252). The user may also paste the address.
    case browser = 1
    /// The user types a code on another device (RFC 8628).
    case device = 2
    /// The user opens the address on any machine, and pastes the address to which the server redirected the browser.
    case paste = 3
}

/// A message of a sign-in to the user.
package struct SignInStep: Sendable {
    package enum Kind: UInt32, Sendable {
        /// Shows the address that the browser opens.
        case browser = 1
        /// Shows the address and the code that the user types there.
        case device = 2
        /// Asks for the address to which the server redirected the browser. The presenter is called with this kind
        /// about four times a second until the sign-in ends; it should ask the user only at the first call.
        case paste = 3
    }

    package let kind: Kind
    /// The address that the user or the browser opens.
    package let address: String
    /// The code that the user types; nil for other kinds than `device`.
    package var userCode: String?
    /// An address that already contains the code; nil if the server sends none.
    package var completeAddress: String?
    /// The error of the last pasted text; nil if there is no error, or if an earlier step reported it.
    package var problem: TokenKeepError?
    /// A problem that occurred during the sign-in; nil if there is no problem, or if an earlier step reported it.
    package var notice: TokenKeepError?
    /// The milliseconds until the sign-in times out.
    package var millisecondsLeft: UInt32 = 0
}

/// Presents a step to the user, on the thread of the sign-in.
///
/// - Returns: the pasted text; nil if the user has not pasted anything. Ignored for steps other than `paste`.
/// - Throws: any error, such as ``Status/cancelled``, which ends the sign-in.
package typealias SignInPresenter = (SignInStep) throws(TokenKeepError) -> SecretBytes?
