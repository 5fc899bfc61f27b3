package import TokenKeepCore

/// The ways in which a user can sign in.
package enum SignInFlow: UInt32, Sendable {
    /// The device flow if the server has it and there is no browser here, else the browser.
    case choose = 0
    /// The browser on this machine comes back to a port here (RFC 8252). A pasted address is accepted as well.
    case browser = 1
    /// A code is typed on another device (RFC 8628).
    case device = 2
    /// The user opens the address anywhere and pastes the address to which the browser was sent.
    case paste = 3
}

/// A message of a sign-in to the user.
package struct SignInStep: Sendable {
    package enum Kind: UInt32, Sendable {
        /// Shows the address that the browser opens.
        case browser = 1
        /// Shows the address and the code that the user types there.
        case device = 2
        /// Asks for the address to which the browser was sent. Called again, about four times a second, until it is
        /// there or the sign-in ends. The first call shows the question.
        case paste = 3
    }

    package let kind: Kind
    /// The address to open.
    package let address: String
    /// The code of a device; nil for other kinds.
    package var userCode: String?
    /// An address that contains the code; nil if the server gives none.
    package var completeAddress: String?
    /// The reason why the text that was pasted before does not count; nil if none was, or if it was shown.
    package var problem: TokenKeepError?
    /// Something that went wrong while the sign-in waits; nil if nothing did, or if it was shown.
    package var notice: TokenKeepError?
    /// The milliseconds until the sign-in ends unfinished.
    package var millisecondsLeft: UInt32 = 0
}

/// Shows a step on the thread of the sign-in.
///
/// - Returns: the pasted text; nil if there is none (yet). Ignored for steps that ask for nothing.
/// - Throws: ``Status/cancelled`` ends the sign-in.
package typealias SignInPresenter = (SignInStep) throws(TokenKeepError) -> SecretBytes?
