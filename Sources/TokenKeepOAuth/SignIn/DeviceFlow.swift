import TokenKeepCore
import TokenKeepSession

/// The device flow (RFC 8628): the user approves on another device, and this program asks until it is done.
struct DeviceFlow {
    private let server: SignInServer
    private let code: SecretBytes
    private let step: SignInStep
    /// The time between two questions, in milliseconds.
    private var interval: UInt32
    private let deadline: Deadline
    private let pause: SignInOptions.Pause

    /// Without an interval of the server: 5 seconds (section 3.2). So many more after `slow_down` (section 3.5).
    private static let normalInterval: UInt32 = 5
    private static let longestInterval: UInt32 = 300

    /// Asks the server for a code.
    ///
    /// - Throws: the server's refusal; ``Status/invalid`` for an answer that is none.
    init(_ server: SignInServer, _ options: SignInOptions, until deadline: Deadline) throws(TokenKeepError) {
        pause = options.pause
        let scope = options.scope
        var fields: [(String, SecretBytes)] = []
        for field in scope.fields { fields.append((field.name, try SecretBytes(field.value))) }
        let answer = try server.post(.deviceAuthorization, fields, deadline)
        guard !ServerRefusal.isRefusal(answer), let json = ServerRefusal.json(answer) else {
            throw ServerRefusal.error(answer, of: "the device's sign-in")
        }
        guard let code = try json["device_code"]?.secret(), let userCode = json["user_code"]?.text,
            let address = (json["verification_uri"] ?? json["verification_url"])?.text,
            DeviceFlow.isShowable(userCode), DeviceFlow.isShowable(address), (try? WebAddress(address)) != nil
        else {
            throw TokenKeepError(
                .unavailable, "the server's answer to the device's sign-in lacks a code or an address",
                module: "server")
        }
        self.server = server
        self.code = code
        var step = SignInStep(kind: .device, address: address)
        step.userCode = userCode
        step.completeAddress = json["verification_uri_complete"]?.text.flatMap {
            DeviceFlow.isShowable($0) && (try? WebAddress($0)) != nil ? $0 : nil
        }
        self.step = step
        let seconds = UInt32(clamping: json["interval"]?.integer ?? Int64(DeviceFlow.normalInterval))
        interval = 1000 * min(max(seconds, 1), DeviceFlow.longestInterval)
        let life = UInt32(clamping: json["expires_in"]?.integer ?? 600)
        self.deadline = deadline.within(milliseconds: 1000 * min(max(life, 1), 3600))
    }

    /// Shows the code, and asks until the user has approved.
    ///
    /// - Throws: ``Status/cancelled`` if the user refuses, ``Status/timedOut`` if the code ends.
    mutating func run(_ present: SignInPresenter) throws(TokenKeepError) -> TokenGrant {
        var shown = step
        shown.millisecondsLeft = deadline.remainingMilliseconds
        _ = try present(shown)
        while true {
            try wait()
            let answer: HTTPResponse
            do throws(TokenKeepError) {
                answer = try server.post(.token, fields(), deadline)
            } catch {
                try back(off: error)
                continue
            }
            if !ServerRefusal.isRefusal(answer) {
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
        switch ServerRefusal.code(of: answer) {
        case "authorization_pending": return
        case "slow_down": interval = min(interval + 1000 * DeviceFlow.normalInterval, 1000 * DeviceFlow.longestInterval)
        case "expired_token": throw over
        case "access_denied": throw ServerRefusal.error(answer, of: "the device's sign-in")
        case _ where answer.status >= 500 || answer.status == 429:
            interval = min(2 * interval, 1000 * DeviceFlow.longestInterval)
        default: throw ServerRefusal.error(answer, of: "the device's sign-in")
        }
    }

    /// After a failure of the network the server is asked half as often (section 3.5).
    private mutating func back(off error: TokenKeepError) throws(TokenKeepError) {
        guard [.unavailable, .timedOut, .io].contains(error.status), !deadline.hasPassed else { throw error }
        interval = min(2 * interval, 1000 * DeviceFlow.longestInterval)
    }

    private func wait() throws(TokenKeepError) {
        pause(interval, deadline)
        try deadline.checkCancellation()
        guard !deadline.hasPassed else { throw over }
    }

    private var over: TokenKeepError {
        TokenKeepError(.timedOut, "the code was not approved in time", hint: "sign in again")
    }

    /// Whether a text of the server may be shown on a terminal.
    private static func isShowable(_ text: String) -> Bool {
        (1...2048).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
