public import TokenKeepCore

/// The options of a session.
public struct SessionOptions: Sendable {
    /// Sends requests to the server; nil if this program does not renew the session.
    public var transport: SessionTransport?
    /// Whether the transport calls ``SessionRequest/willSend()`` before the first byte of a request. If false, the
    /// engine notes a refresh before it calls the transport.
    package var transportNotesSending = false
    /// Whether ``SessionEngine/step()`` asks the server every 3 minutes whether it still accepts the token.
    public var validates = false
    /// The name of the provider. It is stored with the session and shown to the user.
    public var provider: String?
    /// The URL of the token endpoint, which requests pass on to the transport.
    public var refreshURL: String?
    /// The OAuth client id, which is sent in the body of refreshes and revocations.
    public var clientID: String?
    /// Whether the server keeps used refresh tokens valid; nil for the profile that the last sign-in set, or else
    /// strict.
    public var rotation: RotationProfile?
    /// The accessibility level of the session's item; nil for the level of the existing item, by default after first
    /// unlock.
    public var level: AccessLevel?
    /// The level of the refresh token. If it is stricter than the session's level, the refresh token is an item of its
    /// own. If it equals the session's level, the session's record has the refresh token. nil keeps the level of the
    /// existing token.
    public var refreshLevel: AccessLevel?
    /// The time limit of a call, in milliseconds.
    public var timeoutMilliseconds: UInt32
    /// Called with a line of text for each step of a call; nil to report no steps. No line contains a token.
    public var explain: (@Sendable (String) -> Void)?
    /// Called with true before a refresh is sent, and with false after its answer is saved. In between, a program
    /// should hold back signals that would end it, because the answer would be lost.
    public var whileSending: (@Sendable (Bool) -> Void)?
    /// Called if a call has waited for one second because another process is renewing the token. The argument is that
    /// process's id, nil if unknown.
    public var whileWaiting: (@Sendable (UInt32?) -> Void)?
    /// The maximum time to wait for a server's answer, in milliseconds. Tests replace it.
    package var answerLimit: UInt32 = 30_000
    /// Returns the present time; replaced in tests.
    package var clock: @Sendable () -> SessionTime = { .now }
    /// Sleeps for a number of milliseconds between two attempts, or until the call is cancelled; replaced in tests.
    package var pause: @Sendable (UInt32, Deadline) -> Void = SessionOptions.sleep

    /// Returns the transport.
    ///
    /// - Parameter missing: the message of the error if there is no transport.
    /// - Throws: ``Status/unsupported`` if there is no transport.
    func requiredTransport(
        orThrow missing: String = "nothing was given that asks the server"
    ) throws(TokenKeepError) -> SessionTransport {
        guard let transport else {
            throw TokenKeepError(.unsupported, missing, hint: "on the command line: --exec COMMAND")
        }
        return transport
    }

    /// Defaults: no transport, the rotation profile of the last sign-in, 35 seconds for a call.
    public init(
        transport: SessionTransport? = nil, rotation: RotationProfile? = nil, level: AccessLevel? = nil,
        timeoutMilliseconds: UInt32 = 35_000
    ) {
        self.transport = transport
        self.rotation = rotation
        self.level = level
        self.timeoutMilliseconds = timeoutMilliseconds
    }
}
