import TokenKeepCore

/// A page that the listener sends to the browser. It shows only the names of the sign-in, loads nothing, makes the
/// browser send no Referer, and runs only its own script.
enum LoopbackPage {
    case done(LoopbackNames)
    case refused(LoopbackNames)
    case otherSignIn
    case otherUser
    case badRequest
    case notFound
    case methodNotAllowed
    /// Redirects the browser to an address, which may contain a secret.
    case redirect(SecretBytes)
    /// Redirects the browser to another path of the listener. The browser then sends a GET, even after a POST.
    case seeOther(String)

    private var status: String {
        switch self {
        case .done, .refused: "200 OK"
        case .otherSignIn, .badRequest: "400 Bad Request"
        case .otherUser: "403 Forbidden"
        case .notFound: "404 Not Found"
        case .methodNotAllowed: "405 Method Not Allowed"
        case .redirect: "302 Found"
        case .seeOther: "303 See Other"
        }
    }

    private var title: String {
        switch self {
        case .done: "The answer has arrived"
        case .refused: "The sign-in did not succeed"
        case .otherSignIn: "This answer belongs to another sign-in"
        case .otherUser: "This browser may belong to another user"
        case .badRequest, .notFound, .methodNotAllowed: "There is nothing here"
        case .redirect, .seeOther: "The sign-in goes on"
        }
    }

    private func text(_ program: String) -> String {
        switch self {
        case .done: "You can close this window. \(program) says whether you are signed in."
        case .refused: "You can close this window. \(program) says why."
        case .otherSignIn: "Go on in the window of the present sign-in, or begin again."
        case .otherUser:
            "\(program) takes answers of its own user's browser. Paste this window's address there; if it holds no code, "
                + "open the address that \(program) shows."
        case .badRequest, .notFound, .methodNotAllowed: "Go back to \(program)."
        case .redirect, .seeOther: ""
        }
    }

    private var names: LoopbackNames {
        switch self {
        case .done(let names), .refused(let names): names
        default: LoopbackNames(program: "The program")
        }
    }

    /// Whether the page's script may remove the path and query from the address bar. False if the user must copy the
    /// address.
    private var mayHideAddress: Bool {
        if case .otherUser = self { false } else { true }
    }

    /// The HTML of the page. Its script removes the code from the address bar.
    private var body: String {
        let names = names
        let rows = names.rows.map { "<dt>\($0.name)<dd>\($0.value)" }.joined()
        return """
            <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">
            <title>\(title)</title><style>\(LoopbackPage.style)</style>
            <main><h1>\(title)</h1><p>\(text(names.markup(names.program)))</p>\(rows.isEmpty ? "" : "<dl>\(rows)</dl>")</main>
            \(mayHideAddress ? "<script>\(LoopbackPage.script)</script>" : "")
            """
    }

    /// The address to which the page redirects the browser; nil if the page is no redirect.
    private var location: SecretBytes? {
        get throws(TokenKeepError) {
            switch self {
            case .redirect(let address): address
            case .seeOther(let path): try SecretBytes(path)
            default: nil
            }
        }
    }

    /// Returns the page as an HTTP response with its headers.
    func response() throws(TokenKeepError) -> SecretBytes {
        var lines = [
            "HTTP/1.1 \(status)", "Cache-Control: no-store", "Referrer-Policy: no-referrer",
            "X-Content-Type-Options: nosniff", "Connection: close",
        ]
        if let location = try location {
            let head = (lines + ["Content-Length: 0", "Location: "]).joined(separator: "\r\n")
            return try SecretText.joined(head, location, "\r\n\r\n")
        }
        let body = body
        lines += [
            "Content-Type: text/html; charset=utf-8", "Content-Length: \(body.utf8.count)",
            "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                + "style-src 'sha256-\(LoopbackPage.styleHash)'; script-src 'sha256-\(LoopbackPage.scriptHash)'",
            "", body,
        ]
        return try SecretBytes(lines.joined(separator: "\r\n"))
    }

    private static let script = #"history.replaceState(null, "", "/")"#
    private static let style = """
        :root{color-scheme:light dark}\
        body{margin:0;padding:12vh 1.5rem 2rem;font:1.0625rem/1.5 system-ui,sans-serif;color:#1d2329;background:#f5f6f8}\
        main{max-width:32rem;margin:auto;padding:2rem;border:1px solid #d5dae0;border-radius:.75rem;background:#fff}\
        h1{margin:0;font-size:1.375rem;line-height:1.3}p{margin:.75rem 0 0}\
        dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1.25rem;margin:1.5rem 0 0;padding-top:1.25rem;\
        border-top:1px solid #d5dae0}dt{color:#58626d}dd{margin:0;overflow-wrap:anywhere}\
        @media(max-width:30rem){body{padding-top:1.5rem}main{padding:1.25rem}dl{display:block}dd{margin-bottom:.5rem}}\
        @media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#15181b}main{background:#1e2226;\
        border-color:#343a40}dl{border-color:#343a40}dt{color:#9aa4ae}}
        """
    /// The SHA-256 hashes of ``script`` and ``style`` in base64. The Content-Security-Policy allows no other script or
    /// style.
    private static let scriptHash = "QLM3P7pETsJ0WkvXSU+WoK9nOEX5PaZRdJCrQPcIC2A="
    private static let styleHash = "f57DEYWg7mKwvLhRv+5E3iHFBf79x12lN6CpFjvI0OU="
}
