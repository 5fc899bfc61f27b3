import TokenKeepCore

/// The browser flow (RFC 8252): the server redirects the browser to a port of this machine, or the user pastes the
/// address of the redirect. The first answer ends the sign-in.
final class BrowserFlow {
    private let request: AuthorizationRequest
    private let server: SignInServer
    /// Listens for the browser; nil if another program uses the port of the redirect address. The user must then paste.
    private let listener: LoopbackListener?
    private let present: SignInPresenter
    private let deadline: Deadline
    /// The authorization code, or the error of the sign-in; nil until there is an answer.
    private var result: Result<SecretBytes, TokenKeepError>?
    /// The error of the last pasted text; nil if there is none, or after it was shown.
    private var problem: TokenKeepError?
    /// The page that shows the result; nil before the browser has delivered an answer, and after the page was sent.
    private var lastPage: LoopbackPage?
    private var pasted: PastedAddress
    private var progress = SignInProgress()
    /// The running attempt to open the browser; nil if no browser is opened.
    private var launch: BrowserLaunch?
    private let names: LoopbackNames
    private let whenAnswered: (@Sendable () -> Void)?

    /// The interval between two checks for a pasted address, in milliseconds.
    private static let glance: Int32 = 250
    /// The maximum wait, in milliseconds, for the browser to request the last page.
    private static let longestLastVisit: UInt32 = 3_000

    init(
        _ server: SignInServer, _ options: SignInOptions, listens: Bool, until deadline: Deadline,
        _ present: @escaping SignInPresenter
    ) throws(TokenKeepError) {
        self.server = server
        self.present = present
        self.deadline = deadline
        names = LoopbackNames(server, options)
        whenAnswered = options.whenAnswered
        let address = try RedirectAddress(server.redirect)
        do throws(TokenKeepError) {
            listener = try LoopbackListener(address, port: options.port, takesForms: server.postsAnswers)
        } catch {
            // The flow also works without a listener if the user pastes the address. But the port of the redirect
            // address must be known, because the server checks it.
            guard !listens, let port = options.port ?? address.port else { throw error }
            listener = nil
            request = try AuthorizationRequest(server, options.scope, redirect: address.text(port: port))
            pasted = PastedAddress(of: request)
            return
        }
        request = try AuthorizationRequest(server, options.scope, redirect: listener?.address ?? "")
        pasted = PastedAddress(of: request)
    }

    /// Runs the flow until there is an answer, and redeems its code for tokens.
    ///
    /// - Parameter open: opens the browser; nil to open none.
    /// - Throws: ``Status/timedOut`` if no answer comes in time; ``Status/cancelled`` if the user refuses or the call
    ///   is cancelled; ``Status/denied`` if the server refuses; the errors of redeeming the code.
    func run(_ scope: SignInScope, opening open: SignInOptions.Open?) throws(TokenKeepError) -> TokenGrant {
        if let open, let listener {
            progress.opensBrowser = true
            launch = open(listener.startAddress)
            _ = try present(step(.browser))
        }
        while result == nil {
            try deadline.checkCancellation()
            guard !deadline.hasPassed else { throw progress.end }
            if launch?.hasFailed == true, !progress.hasBrowser { progress.add(SignInProgress.noBrowser) }
            if let text = try present(step(.paste)) { judge(pasted: text) }
            guard result == nil else { break }
            if let listener {
                listener.serve(milliseconds: BrowserFlow.glance) { self.reply(to: $0) }
            } else {
                OutsideCall.run { ShortPause.wait(milliseconds: UInt32(BrowserFlow.glance)) }
            }
        }
        showLastPage()
        let code = try result?.get()
        guard let code else { throw TokenKeepError(.internal, "a sign-in ended without a result") }
        whenAnswered?()
        return try TokenGrant.redeem(code, of: request, scope, server, until: deadline)
    }

    /// Waits until the browser has received the last page, at most 3 seconds.
    private func showLastPage() {
        let limit = deadline.within(milliseconds: BrowserFlow.longestLastVisit)
        while lastPage != nil, !limit.hasPassed, (try? deadline.checkCancellation()) != nil {
            listener?.serve(milliseconds: BrowserFlow.glance) { self.reply(to: $0) }
        }
    }

    private func step(_ kind: SignInStep.Kind) -> SignInStep {
        var step = SignInStep(kind: kind, address: request.address)
        step.millisecondsLeft = deadline.remainingMilliseconds
        step.problem = problem
        step.notice = progress.next()
        problem = nil
        return step
    }

    /// Replies to the browser's request for one of the pages.
    private func reply(to visit: LoopbackVisit) -> LoopbackReply {
        guard visit.isTrusted else {
            progress.add(SignInProgress.otherUser)
            return LoopbackReply(page: .otherUser)
        }
        switch visit.place {
        case .start:
            guard let address = try? SecretBytes(request.openedAddress) else { return LoopbackReply(page: .badRequest) }
            return LoopbackReply(page: .redirect(address)) { self.progress.hasBrowser = true }
        case .answer(let query): return reply(toAnswer: query)
        case .end:
            guard let page = lastPage else { return LoopbackReply(page: .notFound) }
            return LoopbackReply(page: page) { self.lastPage = nil }
        }
    }

    /// Handles an answer that the browser delivers. Redirects the browser to the last page, so that neither its address
    /// bar nor its history contains the code.
    private func reply(toAnswer query: UnsafeRawBufferPointer) -> LoopbackReply {
        guard result == nil else { return LoopbackReply(page: .badRequest) }
        let answer: AuthorizationAnswer
        do throws(TokenKeepError) {
            answer = try AuthorizationAnswer(query: query)
        } catch {
            progress.add(SignInProgress.unreadable(error))
            return LoopbackReply(page: .badRequest)
        }
        guard answer.belongs(to: request.state) else {
            progress.add(SignInProgress.other(answer))
            return LoopbackReply(page: .otherSignIn)
        }
        let result = result(of: answer)
        let isDone = if case .success = result { true } else { false }
        return LoopbackReply(page: .seeOther(listener?.endPath ?? "/")) {
            self.result = result
            self.lastPage = isDone ? .done(self.names) : .refused(self.names)
        }
    }

    private func result(of answer: AuthorizationAnswer) -> Result<SecretBytes, TokenKeepError> {
        do throws(TokenKeepError) {
            return .success(try answer.code(from: server))
        } catch {
            return .failure(error)
        }
    }

    /// Handles a pasted text. If the text is no answer to this sign-in, sets ``problem``, and the flow continues.
    private func judge(pasted text: SecretBytes) {
        do throws(TokenKeepError) {
            result = result(of: try pasted.answer(in: text))
        } catch {
            problem = error
            progress.pasted(error)
        }
    }
}
