import TokenKeepCore
import TokenKeepSession

/// The device flow (RFC 8628): the user approves on another device, and this program polls the token endpoint until
/// then.
struct DeviceFlow {
    private let server: SignInServer
    private let code: SecretBytes
    private let step: SignInStep
    /// The minimum interval between two polls, in milliseconds.
    private var interval: UInt32
    /// The time until the next poll, in milliseconds: ``interval``, doubled after each failure.
    private var pauseLength: UInt32
    /// The number of answers so far that cannot come from a token endpoint; nil (no longer counted) after the first
    /// answer of a token endpoint.
    private var strangeAnswers: Int? = 0
    private let deadline: Deadline
    private let pause: SignInOptions.Pause

    /// The default polling interval, in seconds (RFC 8628 section 3.2). The error `slow_down` lengthens the interval by
    /// the same time (section 3.5).
    private static let normalInterval: UInt32 = 5
    private static let longestInterval: UInt32 = 300
    /// The maximum number of answers that cannot come from a token endpoint, before its first proper answer.
    private static let mostStrangeAnswers = 3

    /// Requests a device code from the server.
    ///
    /// - Throws: the error for the server's refusal; ``Status/unavailable`` if the answer has no usable code or
    ///   address.
    init(_ server: SignInServer, _ options: SignInOptions, until deadline: Deadline) throws(TokenKeepError) {
        pause = options.pause
        let scope = options.scope
        var fields: [(String, SecretBytes)] = []
        for field in scope.fields { fields.append((field.name, try SecretBytes(field.value))) }
        let answer = try server.post(.deviceAuthorization, fields, deadline)
        guard !ServerRefusal.isRefusal(answer), let json = ServerRefusal.json(answer) else {
            throw ServerRefusal.error(answer, of: "the device's sign-in")
        }
        guard let code = try DeviceFlow.code(json["device_code"]),
            let userCode = json["user_code"]?.text ?? json["user_code"]?.integer.map(String.init),
            let address = (json["verification_uri"] ?? json["verification_url"])?.text,
            DeviceFlow.isShowable(userCode), DeviceFlow.isAddress(address)
        else {
            throw TokenKeepError(
                .unavailable,
                "the server's answer to the device's sign-in lacks a usable device_code, user_code or verification_uri",
                module: "server")
        }
        self.server = server
        self.code = code
        var step = SignInStep(kind: .device, address: address)
        step.userCode = userCode
        step.completeAddress = json["verification_uri_complete"]?.text.flatMap {
            DeviceFlow.isAddress($0) ? $0 : nil
        }
        self.step = step
        let seconds = UInt32(clamping: TokenResponse.seconds(json["interval"]) ?? Int64(DeviceFlow.normalInterval))
        interval = 1000 * min(max(seconds, 1), DeviceFlow.longestInterval)
        pauseLength = interval
        let life = UInt32(clamping: TokenResponse.seconds(json["expires_in"]) ?? 600)
        self.deadline = deadline.within(milliseconds: 1000 * min(max(life, 1), 3600))
    }

    /// Shows the code to the user, and polls the token endpoint until the user has approved.
    ///
    /// - Throws: ``Status/cancelled`` if the user refuses; ``Status/timedOut`` if the code expires.
    mutating func run(_ present: SignInPresenter) throws(TokenKeepError) -> TokenGrant {
        var shown = step
        shown.millisecondsLeft = deadline.remainingMilliseconds
        _ = try present(shown)
        while true {
            try wait()
            let answer: HTTPResponse
            do throws(TokenKeepError) {
                answer = try server.post(.polling, fields(), deadline)
            } catch {
                try back(off: error)
                continue
            }
            if ServerRefusal.givesTokens(answer) {
                return try TokenGrant.grant(answer, of: "the device's sign-in")
            }
            try judge(answer)
        }
    }

    private func fields() throws(TokenKeepError) -> [(String, SecretBytes)] {
        [
            ("grant_type", try SecretBytes("urn:ietf:params:oauth:grant-type:device_code")), ("device_code", code),
        ]
    }

    private mutating func judge(_ answer: HTTPResponse) throws(TokenKeepError) {
        let code = ServerRefusal.code(of: answer)
        switch code {
        case "authorization_pending": break
        case "slow_down": interval = min(interval + 1000 * DeviceFlow.normalInterval, 1000 * DeviceFlow.longestInterval)
        case "expired_token": throw over
        case "access_denied": throw ServerRefusal.error(answer, of: "the device's sign-in")
        case "temporarily_unavailable", "server_error": return doublePause(after: answer)
        case _ where answer.status >= 500 || answer.status == 429: return doublePause(after: answer)
        case _ where !DeviceFlow.isErrorCode(code): return try countStrange(answer)
        default: throw ServerRefusal.error(answer, of: "the device's sign-in")
        }
        pauseLength = interval
        strangeAnswers = nil
    }

    /// Counts an answer that cannot come from a token endpoint, and throws if there are too many. A few are tolerated,
    /// because a proxy or a portal may have answered while the user is still approving.
    private mutating func countStrange(_ answer: HTTPResponse) throws(TokenKeepError) {
        if let count = strangeAnswers {
            guard count < DeviceFlow.mostStrangeAnswers else {
                throw ServerRefusal.error(answer, of: "the device's sign-in")
            }
            strangeAnswers = count + 1
        }
        doublePause()
    }

    /// Whether a text has the form of an error code (RFC 6749): only lower-case letters, digits and underscores. A
    /// reason phrase such as "Not Found" has not.
    private static func isErrorCode(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 == 0x5F || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    }

    /// Doubles the pause, and lengthens it further if the answer's header Retry-After demands a longer wait.
    private mutating func doublePause(after answer: HTTPResponse) {
        doublePause()
        let serverTime = HTTPDate.seconds(answer.date) ?? SessionTime.now.wall
        guard let wait = HTTPDate.delay(answer.retryAfter, now: serverTime) else { return }
        pauseLength = max(pauseLength, 1000 * min(UInt32(clamping: wait), DeviceFlow.longestInterval))
    }

    private mutating func doublePause() { pauseLength = min(2 * pauseLength, 1000 * DeviceFlow.longestInterval) }

    /// Doubles the pause after a network failure (RFC 8628 section 3.5). Throws every other error, and each error after
    /// the deadline.
    private mutating func back(off error: TokenKeepError) throws(TokenKeepError) {
        guard [.unavailable, .timedOut, .io].contains(error.status), !deadline.hasPassed else { throw error }
        doublePause()
    }

    private func wait() throws(TokenKeepError) {
        pause(pauseLength, deadline)
        try deadline.checkCancellation()
        guard !deadline.hasPassed else { throw over }
    }

    private var over: TokenKeepError {
        TokenKeepError(.timedOut, "the code was not approved in time", hint: "sign in again")
    }

    /// Reads the device code, which may be a JSON number; nil if the member is missing or of another type.
    private static func code(_ member: JSONValue?) throws(TokenKeepError) -> SecretBytes? {
        guard let number = member?.integer else { return try member?.secret() }
        return try SecretBytes(String(number))
    }

    /// Whether a server's text is an address that the user can open in a browser. This program itself never requests
    /// the address.
    private static func isAddress(_ text: String) -> Bool {
        guard isShowable(text), !text.utf8.contains(0x20) else { return false }
        // Browsers accept a scheme in capital letters and a fragment, which WebAddress refuses. So the check ignores
        // both.
        let page = text.prefix { $0 != "#" }
        return (try? WebAddress(page.prefix(8).lowercased() + page.dropFirst(8))) != nil
    }

    /// Whether a server's text can be shown on a terminal: 1 to 2048 printable ASCII characters.
    private static func isShowable(_ text: String) -> Bool {
        (1...2048).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
