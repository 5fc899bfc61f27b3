/// A page for the browser, which holds nothing of the sign-in, sends no Referer and runs no script but its own.
enum LoopbackPage {
    case done
    case refused
    case otherSignIn
    case otherUser
    case badRequest
    case notFound
    case methodNotAllowed

    private var status: String {
        switch self {
        case .done, .refused: "200 OK"
        case .otherSignIn, .badRequest: "400 Bad Request"
        case .otherUser: "403 Forbidden"
        case .notFound: "404 Not Found"
        case .methodNotAllowed: "405 Method Not Allowed"
        }
    }

    private var text: String {
        switch self {
        case .done: "The answer has arrived. You can close this window; the program says whether you are signed in."
        case .refused: "The sign-in did not succeed. The program that began it says why."
        case .otherSignIn: "This answer belongs to another sign-in. Go on in the window of the present one."
        case .otherUser: "This browser belongs to another user than the program. Paste the address there."
        case .badRequest, .notFound, .methodNotAllowed: "There is nothing here."
        }
    }

    /// The script takes the code out of the address, and so out of the history.
    private var body: String {
        """
        <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>TokenKeep</title>
        <p>\(text)</p><script>history.replaceState(null, "", "/")</script>
        """
    }

    var response: String {
        let body = body
        return [
            "HTTP/1.1 \(status)", "Content-Type: text/html; charset=utf-8", "Content-Length: \(body.utf8.count)",
            "Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'; "
                + "script-src 'sha256-\(LoopbackPage.scriptHash)'",
            "Connection: close", "", body,
        ].joined(separator: "\r\n")
    }

    /// The hash of the script, for the policy.
    private static let scriptHash = "QLM3P7pETsJ0WkvXSU+WoK9nOEX5PaZRdJCrQPcIC2A="
}
