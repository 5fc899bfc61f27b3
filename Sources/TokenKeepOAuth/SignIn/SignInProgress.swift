import TokenKeepCore

/// The progress of a sign-in in the browser, and its problems so far.
struct SignInProgress {
    /// Whether this program opens a browser.
    var opensBrowser = false
    /// Whether a browser of this user has requested the start page.
    var hasBrowser = false
    private var shown: Set<String> = []
    private var waiting: [TokenKeepError] = []
    private var last: TokenKeepError?

    /// Adds a problem to be shown to the user. Each problem is shown only once, even if another program causes it
    /// repeatedly.
    mutating func add(_ problem: TokenKeepError) {
        last = problem
        guard shown.count < SignInProgress.mostNotices, shown.insert(problem.message).inserted else { return }
        waiting.append(problem)
    }

    /// Stores the problem of a pasted text for ``end``. It is not added to the problems to be shown, because the step
    /// itself shows it.
    mutating func pasted(_ problem: TokenKeepError) { last = problem }

    /// Removes and returns the next problem to be shown; nil if there is no such problem.
    mutating func next() -> TokenKeepError? { waiting.isEmpty ? nil : waiting.removeFirst() }

    /// The error of a sign-in whose time limit has passed.
    var end: TokenKeepError {
        let more = "--timeout gives more time, --flow device needs no browser here"
        if let last {
            return TokenKeepError(
                .timedOut, "nobody signed in in time: \(last.message)", hint: last.hint ?? "sign in again; \(more)")
        }
        guard hasBrowser else {
            let missing = opensBrowser ? "no browser has opened the sign-in" : "no answer of a browser has come"
            return TokenKeepError(.timedOut, "nobody signed in in time: \(missing)", hint: "sign in again; \(more)")
        }
        return TokenKeepError(
            .timedOut, "nobody signed in in time: the browser has opened the sign-in, and has not come back",
            hint: "sign in again, in the newest tab: the tab of an earlier sign-in does not count; \(more)")
    }

    private static let mostNotices = 16

    static let noBrowser = TokenKeepError(
        .unavailable, "no browser could be opened here", hint: "open the address in a browser, anywhere")

    static let otherUser = TokenKeepError(
        .denied, "a process that is not certainly yours has called the sign-in's port, and was refused",
        hint: "if it was your browser, paste here the address to which it was sent")

    /// The problem of an answer that cannot be read.
    static func unreadable(_ error: TokenKeepError) -> TokenKeepError {
        TokenKeepError(.denied, "the browser brought an answer that cannot be read: \(error.message)")
    }

    /// The problem of an answer that has a different state, or no state.
    static func other(_ answer: AuthorizationAnswer) -> TokenKeepError {
        guard !answer.hasState else {
            return TokenKeepError(
                .denied, "the browser brought the answer of another sign-in",
                hint: "go on in the newest tab: the tab of an earlier sign-in does not count")
        }
        guard let refusal = answer.refusal else {
            return TokenKeepError(
                .denied, "the browser came back without the sign-in's state",
                hint: "go on in the newest tab; if it happens again, check the redirect address at the server")
        }
        return TokenKeepError(
            .denied, "the browser brought a refusal without the sign-in's state: \(refusal)",
            hint: "the server may not know the client or the redirect address: check the provider's file")
    }
}
