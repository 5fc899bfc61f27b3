import Glibc
import TokenKeepCore

/// The browser flow (RFC 8252): the browser comes back to a port of this machine, or the user pastes the address to
/// which it was sent. The first of the two ends the sign-in.
final class BrowserFlow {
    private let request: AuthorizationRequest
    private let server: SignInServer
    /// nil if the port of a pasted address is taken here.
    private let listener: LoopbackListener?
    private let present: SignInPresenter
    private let deadline: Deadline
    /// The result: a code, or the reason why there is none.
    private var result: Result<SecretBytes, TokenKeepError>?
    /// The reason why the last pasted text does not count; nil once it was shown.
    private var problem: TokenKeepError?

    /// The time between two questions for a pasted address, in milliseconds.
    private static let glance: Int32 = 250

    init(
        _ server: SignInServer, _ options: SignInOptions, listens: Bool, until deadline: Deadline,
        _ present: @escaping SignInPresenter
    ) throws(TokenKeepError) {
        self.server = server
        self.present = present
        self.deadline = deadline
        let address = try RedirectAddress(server.redirect)
        do throws(TokenKeepError) {
            listener = try LoopbackListener(address, port: options.port)
        } catch {
            // A pasted address needs no listener, only the port that the server knows.
            guard !listens, let port = options.port ?? address.port else { throw error }
            listener = nil
            request = try AuthorizationRequest(server, options.scope, redirect: address.text(port: port))
            return
        }
        request = try AuthorizationRequest(server, options.scope, redirect: listener?.address ?? "")
    }

    /// Runs the flow.
    ///
    /// - Parameter opens: whether the browser is opened.
    /// - Throws: ``Status/timedOut``, ``Status/cancelled``, ``Status/denied``.
    func run(_ scope: SignInScope, opens: Bool) throws(TokenKeepError) -> TokenGrant {
        if opens {
            BrowserLauncher.open(request.address)
            _ = try present(step(.browser))
        }
        while result == nil {
            try deadline.checkCancellation()
            guard !deadline.hasPassed else {
                throw TokenKeepError(
                    .timedOut, "nobody signed in in time",
                    hint: "sign in again; --timeout gives more time, --flow device needs no browser here")
            }
            if let pasted = try present(step(.paste)) { take(pasted: pasted) }
            guard result == nil else { break }
            if let listener {
                listener.serve(milliseconds: BrowserFlow.glance) { self.take(query: $0, from: $1) }
            } else {
                OutsideCall.run { _ = usleep(1000 * UInt32(BrowserFlow.glance)) }
            }
        }
        let code = try result?.get()
        guard let code else { throw TokenKeepError(.internal, "a sign-in ended without a result") }
        return try TokenGrant.redeem(code, of: request, scope, server, until: deadline)
    }

    private func step(_ kind: SignInStep.Kind) -> SignInStep {
        var step = SignInStep(kind: kind, address: request.address)
        step.millisecondsLeft = deadline.remainingMilliseconds
        step.problem = problem
        problem = nil
        return step
    }

    /// Judges what the browser brought by a connection.
    private func take(query: UnsafeRawBufferPointer, from connection: Int32) -> LoopbackPage {
        guard result == nil, let answer = try? AuthorizationAnswer(query: query) else { return .badRequest }
        guard answer.belongs(to: request) else { return .otherSignIn }
        guard LoopbackPeer.isTrusted(connection) else { return .otherUser }
        return take(answer) ? .done : .refused
    }

    private func take(_ answer: AuthorizationAnswer) -> Bool {
        do throws(TokenKeepError) {
            result = .success(try answer.code(from: server))
            return true
        } catch {
            result = .failure(error)
            return false
        }
    }

    /// Judges a pasted text. Any other than the address of this sign-in is a ``problem``, and waiting goes on.
    private func take(pasted: SecretBytes) {
        do throws(TokenKeepError) {
            _ = take(try answer(pasted: pasted))
        } catch {
            problem = error
        }
    }

    /// Reads a pasted address. It must be whole: state and issuer are checked.
    ///
    /// - Throws: ``Status/denied`` with the reason.
    private func answer(pasted: SecretBytes) throws(TokenKeepError) -> AuthorizationAnswer {
        let answer = try pasted.withUnsafeBytes { bytes throws(TokenKeepError) -> AuthorizationAnswer? in
            guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return nil }
            let place = bytes[..<mark].drop { $0 == 0x20 || $0 == 0x09 }
            // A browser adds the path that a redirect address lacks.
            guard place.elementsEqual(request.redirect.utf8) || place.elementsEqual((request.redirect + "/").utf8)
            else {
                return nil
            }
            let query = bytes[bytes.index(after: mark)...].prefix { ![0x20, 0x0A, 0x0D, 0x23].contains($0) }
            return try AuthorizationAnswer(query: UnsafeRawBufferPointer(rebasing: query))
        }
        guard let answer else {
            throw TokenKeepError(
                .denied, "the pasted text is not the address to which the browser was sent",
                hint: "paste the whole address, which begins with \(request.redirect)?: a code alone does not show who "
                    + "sent it")
        }
        guard answer.belongs(to: request) else {
            throw TokenKeepError(
                .denied, "the pasted address belongs to another sign-in",
                hint: "open the address of this sign-in, and paste where the browser is sent then")
        }
        return answer
    }
}
