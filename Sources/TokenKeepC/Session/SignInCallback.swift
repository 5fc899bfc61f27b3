import CSystemShims
import TokenKeepCore
import TokenKeepHeaders
import TokenKeepOAuth

/// A `tokenkeep_login_step`. It is valid only during the call of the application's function.
final class SignInStepHandle: Sendable {
    let kind: UInt32
    private let texts: CStrings
    private let hasCode: Bool

    init(_ step: SignInStep) {
        kind = step.kind.rawValue
        hasCode = step.userCode != nil
        texts = CStrings([step.address, step.userCode ?? ""])
    }

    var address: UnsafePointer<CChar> { texts[0] }
    var userCode: UnsafePointer<CChar>? { hasCode ? texts[1] : nil }
}

/// A `tokenkeep_login_fn` and its data, which the caller owns.
struct CSignInPresenter {
    /// The maximum length of a pasted address, in bytes.
    private static let capacity = 16_384

    let function: tokenkeep_login_fn
    let data: UnsafeMutableRawPointer?

    /// Calls the C function. Every status except OK counts as the user's refusal.
    func present(_ step: SignInStep) throws(TokenKeepError) -> SecretBytes? {
        let handle = SignInStepHandle(step)
        let answer = try SecretBytes(capacity: CSignInPresenter.capacity) { buffer throws(TokenKeepError) in
            var length = 0
            let text = buffer.bindMemory(to: CChar.self).baseAddress
            // The function may wait for the user. The thread leaves the call meanwhile, so that fork() in another
            // thread does not wait for the user, too.
            tokenkeep_call_leave()
            let status = withExtendedLifetime(handle) { function(data, lentToC(handle), text, buffer.count, &length) }
            tokenkeep_call_resume()
            guard status == Status.ok.rawValue else {
                throw TokenKeepError(.cancelled, "the application ended the sign-in (status \(status))")
            }
            guard (0...buffer.count).contains(length) else {
                throw TokenKeepError(.invalid, "the pasted address is longer than \(buffer.count) bytes")
            }
            return length
        }
        return answer.count == 0 ? nil : answer
    }
}

/// The values of a `tokenkeep_login_options`.
struct SignInRequest {
    private static let usualTimeout: UInt32 = 300_000
    private static let longestText = 4096

    let provider: String
    let milliseconds: UInt32
    let takesAnyone: Bool
    let presenter: CSignInPresenter
    var signIn = SignInOptions()

    /// Reads `tokenkeep_login_options`, which must not be NULL.
    init(_ pointer: UnsafePointer<tokenkeep_login_options>?) throws(TokenKeepError) {
        let pointer = try Boundary.required(pointer, "login options")
        let options = try copy(pointer, over: tokenkeep_login_options(), "login options")
        provider = try Boundary.text(options.provider, "provider", atMost: 255)
        signIn.scope.scope = try SignInRequest.text(options.scope, "scope")
        signIn.scope.resource = try SignInRequest.text(options.resource, "resource")
        signIn.scope.audience = try SignInRequest.text(options.audience, "audience")
        guard let flow = SignInFlow(rawValue: options.flow) else {
            throw TokenKeepError(.invalid, "flow \(options.flow) is no way of signing in", hint: "the flows are 0 to 3")
        }
        signIn.flow = flow
        try checkFlags(options.flags, known: UInt32(TOKENKEEP_LOGIN_ANY_ACCOUNT), "login options")
        takesAnyone = options.flags & UInt32(TOKENKEEP_LOGIN_ANY_ACCOUNT) != 0
        milliseconds = options.timeout_ms == 0 ? SignInRequest.usualTimeout : options.timeout_ms
        presenter = CSignInPresenter(
            function: try Boundary.required(options.show, "function show"), data: options.data)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(TokenKeepError) -> String? {
        try Boundary.optionalText(pointer, name, atMost: longestText)
    }
}
