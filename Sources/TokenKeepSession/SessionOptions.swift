public import TokenKeepCore

/// The options of a session.
public struct SessionOptions: Sendable {
    /// Sends requests to the server; nil if the session is not renewed by this program.
    public var transport: SessionTransport?
    /// Whether the transport calls ``SessionRequest/willSend()`` before the first byte of a request. Else the engine notes
    /// a refresh before it calls the transport.
    package var transportNotesSending = false
    /// Whether ``SessionEngine/step()`` asks the server every 3 minutes whether it still accepts the token.
    public var validates = false
    /// The name of the provider, for outputs.
    public var provider: String?
    /// The address of the token endpoint, passed on in requests.
    public var refreshURL: String?
    /// The client's id, a part of the body of requests.
    public var clientID: String?
    /// The server's treatment of used refresh tokens; nil for the profile of the sign-in, else strict.
    public var rotation: RotationProfile?
    /// The level of the session's item; nil for the level that it has, else after first unlock.
    public var level: AccessLevel?
    /// The level of the refresh token, stricter than that of the session: the token is then an item of its own. The
    /// session's level for none; nil for the level that it has.
    public var refreshLevel: AccessLevel?
    /// The time limit of a call, in milliseconds.
    public var timeoutMilliseconds: UInt32
    /// Gets a line for each step of a call; nil for none. No line holds a token.
    public var explain: (@Sendable (String) -> Void)?
    /// Called with true before a refresh is sent and with false after its answer is saved. A program holds back signals
    /// meanwhile that would end it: the answer would be lost.
    public var whileSending: (@Sendable (Bool) -> Void)?
    /// Called once after a second of waiting for a process that renews the token; nil if its number is not known.
    public var whileWaiting: (@Sendable (UInt32?) -> Void)?
    /// The time for the answer to a request, in milliseconds; replaced in tests.
    package var answerLimit: UInt32 = 30_000
    /// Gives the time; replaced in tests.
    package var clock: @Sendable () -> SessionTime = { .now }
    /// Waits so many milliseconds between two attempts, unless the call is cancelled; replaced in tests.
    package var pause: @Sendable (UInt32, Deadline) -> Void = SessionOptions.sleep

    /// The transport.
    ///
    /// - Parameter missing: the message of the error if there is none.
    /// - Throws: ``Status/unsupported``.
    func requiredTransport(
        orThrow missing: String = "nothing was given that asks the server"
    ) throws(TokenKeepError) -> SessionTransport {
        guard let transport else {
            throw TokenKeepError(.unsupported, missing, hint: "on the command line: --exec COMMAND")
        }
        return transport
    }

    /// Defaults: no transport, the rotation that the sign-in said, 35 seconds a call.
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
