import CSodium
import Glibc
import Synchronization
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepOAuth

/// The browser comes back, or somebody else calls.
@Suite struct BrowserFlowTests {
    /// Runs a sign-in whose browser is `visit`, on a thread of its own.
    private func signIn(
        _ played: PlayedServer, _ options: SignInOptions = .test(.browser),
        server change: (inout SignInServer) -> Void = { _ in },
        visit: @escaping @Sendable (OpenedAddress) -> Void
    ) throws(TokenKeepError) -> SignedIn {
        var server = played.server
        change(&server)
        let isStarted = Mutex(false)
        return try SignIn.run(at: server, options, until: .patient) {
            step throws(TokenKeepError) in
            let isFirst = isStarted.withLock { started in
                defer { started = true }
                return !started
            }
            if isFirst {
                let opened = OpenedAddress(step.address)
                #expect(DetachedThread.start { visit(opened) } == 0)
            }
            return nil
        }
    }

    @Test func theCodeIsRedeemedWithTheVerifierOfTheChallenge() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        let asked = Mutex<OpenedAddress?>(nil)
        let result = try signIn(played) { opened in
            asked.withLock { $0 = opened }
            let page = LoopbackCaller.get(opened.port, "/callback?code=c%2D1&state=\(opened.state)")
            #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.contains("Referrer-Policy: no-referrer"))
            #expect(!page.contains("c-1") && !page.contains(opened.state))
        }
        #expect(result.hasRefreshToken && result.account == nil)
        let opened = try #require(asked.withLock { $0 })
        let form = try #require(played.posted.first)
        #expect(form["grant_type"] == "authorization_code" && form["code"] == "c-1")
        #expect(form["redirect_uri"] == opened.redirect && opened.redirect.hasPrefix("http://127.0.0.1:"))
        #expect(opened.parameters["code_challenge_method"] == "S256")
        let verifier = try #require(form["code_verifier"])
        #expect(verifier.utf8.count == 43 && opened.parameters["code_challenge"] == challenge(of: verifier))
    }

    private func challenge(of verifier: String) -> String { hash(verifier, sodium_base64_VARIANT_URLSAFE_NO_PADDING) }

    /// The Base64 of a text's SHA-256.
    private func hash(_ hashed: String, _ variant: Int32) -> String {
        var hash = [UInt8](repeating: 0, count: 32)
        let bytes = Array(hashed.utf8)
        crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
        var text = [CChar](repeating: 0, count: 64)
        sodium_bin2base64(&text, text.count, hash, hash.count, variant)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The page's policy allows the script that takes the code out of the address, by its hash.
    @Test func thePageMayRunItsOwnScriptAlone() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        let hash = self.hash
        _ = try signIn(played) { opened in
            let page = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)")
            let script = page.split(separator: "<script>").last?.split(separator: "</script>").first.map(String.init)
            let style = page.split(separator: "<style>").last?.split(separator: "</style>").first.map(String.init)
            #expect(script?.contains("history.replaceState") == true)
            #expect(page.contains("default-src 'none'"))
            #expect(page.contains("style-src 'sha256-\(hash(style ?? "", sodium_base64_VARIANT_ORIGINAL))'"))
            #expect(page.contains("script-src 'sha256-\(hash(script ?? "", sodium_base64_VARIANT_ORIGINAL))'"))
        }
    }

    /// A browser's address bar and list of pages then have the address of the last page alone.
    @Test func theAnswerLeadsToAPageWithoutTheCode() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            #expect(LoopbackCaller.get(opened.port, "/done").hasPrefix("HTTP/1.1 404"))
            let answer = LoopbackCaller.call(
                opened.port,
                "GET /callback?code=c&state=\(opened.state) HTTP/1.1\r\nHost: 127.0.0.1:\(opened.port)\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 303 See Other\r\n") && answer.hasSuffix("\r\nLocation: /done\r\n\r\n"))
            #expect(answer.contains("Cache-Control: no-store\r\n"))
            #expect(LoopbackCaller.get(opened.port, "/done").contains("<h1>The answer has arrived</h1>"))
        }
    }

    @Test func aSignInGoesOnIfTheBrowserDoesNotAskForTheLastPage() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            _ = LoopbackCaller.call(
                opened.port,
                "GET /callback?code=c&state=\(opened.state) HTTP/1.1\r\nHost: 127.0.0.1:\(opened.port)\r\n\r\n")
        }
        #expect(played.posted.map { $0["code"] } == ["c"])
    }

    @Test func aFormBringsTheCodeOfAServerThatSendsForms() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played, server: { $0.postsAnswers = true }) { opened in
            // What is printed may be opened elsewhere, and its answer be pasted.
            #expect(opened.parameters["response_mode"] == nil)
            let start = LoopbackCaller.get(opened.port, "/start")
            #expect(start.contains("&response_mode=form_post\r\n"))
            let (port, form) = (opened.port, "code=c%2B1&state=\(opened.state)")
            #expect(LoopbackCaller.post(port, "/start", form).hasPrefix("HTTP/1.1 405"))
            #expect(LoopbackCaller.post(port, "/callback", "code=c&state=guess").hasPrefix("HTTP/1.1 400"))
            #expect(LoopbackCaller.post(port, "/callback?\(form)", "").hasPrefix("HTTP/1.1 400"))
            #expect(LoopbackCaller.post(port, "/callback", form, lengths: []).hasPrefix("HTTP/1.1 400"))
            for lengths in [["1", "\(form.utf8.count)"], ["-1"], ["99999999"], ["nonsense"]] {
                #expect(LoopbackCaller.post(port, "/callback", form, lengths: lengths) == "")
            }
            #expect(LoopbackCaller.post(port, "/callback", form).contains("<h1>The answer has arrived</h1>"))
        }
        #expect(played.posted.map { $0["code"] } == ["c+1"])
    }

    /// The address that was printed was opened instead.
    @Test func anAddressBringsTheCodeOfAServerThatSendsForms() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played, server: { $0.postsAnswers = true }) { opened in
            let page = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)")
            #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test func thePageNamesProgramProviderServiceAndAccount() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var options = SignInOptions.test(.browser)
        (options.service, options.account) = ("api.example.com", "<ann> & \"bob\"")
        _ = try signIn(played, options) { opened in
            let page = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)")
            #expect(page.contains("<dt>Provider<dd>test<dt>Service<dd>api.example.com"))
            #expect(page.contains("<dt>Account<dd>&lt;ann&gt; &amp; &quot;bob&quot;</dl>"))
            let program = CommandLine.arguments.first?.split(separator: "/").last ?? ""
            #expect(page.contains("<p>You can close this window. \(program) says whether"))
        }
    }

    /// Other users can read the arguments of the browser's command.
    @Test func theBrowserGetsAPageThatLeadsToTheServer() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var options = SignInOptions.test(.browser)
        options.opensBrowser = true
        let given = Mutex("")
        options.open = { address in
            given.withLock { $0 = address }
            return BrowserLaunch([["true"]])
        }
        let expected = Mutex("")
        _ = try SignIn.run(at: played.server, options, until: .patient) {
            step throws(TokenKeepError) in
            guard step.kind == .browser else { return nil }
            let opened = OpenedAddress(step.address)
            expected.withLock { $0 = step.address }
            let visit = DetachedThread.start {
                let page = LoopbackCaller.get(opened.port, "/start")
                #expect(page.hasPrefix("HTTP/1.1 302 Found\r\n") && page.contains("Referrer-Policy: no-referrer\r\n"))
                #expect(page.contains("\r\nLocation: \(expected.withLock { $0 })\r\n"))
                _ = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)")
            }
            #expect(visit == 0)
            return nil
        }
        #expect(given.withLock { $0 } == "http://127.0.0.1:\(OpenedAddress(expected.withLock { $0 }).port)/start")
    }

    @Test(.enabled(if: geteuid() == 0)) func thePageLeadsNoOtherUserToTheServer() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            let script = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read())"
            let process = try? ChildProcess(
                "/usr/bin/python3", ["-c", script, "http://127.0.0.1:\(opened.port)/start"], environment: [:],
                user: 65534)
            let output = (try? process?.finish())?.output ?? opened.state
            #expect(!output.contains(opened.state) && !output.contains("authorize"))
            _ = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)")
        }
    }

    @Test func answersThatDoNotCountAreShownOnce() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        let notices = Mutex<[String]>([])
        let isStarted = Mutex(false)
        _ = try SignIn.run(at: played.server, .test(.browser), until: .patient) {
            step throws(TokenKeepError) in
            if let notice = step.notice { notices.withLock { $0.append(notice.message) } }
            let isFirst = isStarted.withLock { started in
                defer { started = true }
                return !started
            }
            guard isFirst else { return nil }
            let opened = OpenedAddress(step.address)
            let visit = DetachedThread.start {
                for query in [
                    "code=c&state=old", "error=access_denied&state=old", "error=invalid_client", "code=d",
                    "error=access_denied&state=a&state=b", "error=%",
                ] {
                    #expect(LoopbackCaller.get(opened.port, "/callback?\(query)").hasPrefix("HTTP/1.1 400"))
                }
                // The notices are shown one after the other, before the next request is served.
                for _ in 0..<5 { _ = LoopbackCaller.get(opened.port, "/other") }
                _ = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)")
            }
            #expect(visit == 0)
            return nil
        }
        #expect(
            notices.withLock { $0 } == [
                "the browser brought the answer of another sign-in",
                "the browser brought a refusal without the sign-in's state: invalid_client",
                "the browser came back without the sign-in's state",
                "the browser brought an answer that cannot be read: an answer repeats the field state",
                "the browser brought an answer that cannot be read: the field error is malformed",
            ])
    }

    /// Only what decides must be well-formed, and once.
    @Test(arguments: ["&error_description=100%", "&scope=a&scope=b", "&%zz=1", String(repeating: "&a=1", count: 40)])
    func anAnswerWithMalformedOtherFieldsCounts(more: String) throws {
        let played = PlayedServer(try PlayedServer.tokens())
        let error = #expect(throws: TokenKeepError.self) {
            try SignIn.run(at: played.server, .test(.paste), until: .patient) { step throws(TokenKeepError) in
                let opened = OpenedAddress(step.address)
                return try SecretBytes("\(opened.redirect)?error=access_denied&state=\(opened.state)\(more)")
            }
        }
        #expect(error?.status == .cancelled)
    }

    @Test func aBrowserThatCannotBeOpenedIsSaid() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var options = SignInOptions.test(.browser)
        options.opensBrowser = true
        options.open = { _ in BrowserLaunch([["false"], ["/nonexistent"]]) }
        _ = try SignIn.run(at: played.server, options, until: .patient) {
            step throws(TokenKeepError) in
            guard let notice = step.notice else { return nil }
            #expect(notice.message == "no browser could be opened here")
            let opened = OpenedAddress(step.address)
            return try SecretBytes("\(opened.redirect)?code=c&state=\(opened.state)")
        }
    }

    @Test func callsOfOthersGetARefusalAndTheSignInGoesOn() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            let port = opened.port
            let answer = "/callback?code=c&state=\(opened.state)"
            #expect(LoopbackCaller.get(port, answer, host: "evil.example").hasPrefix("HTTP/1.1 400"))
            #expect(LoopbackCaller.get(port, answer, host: "127.0.0.1").hasPrefix("HTTP/1.1 400"))
            #expect(LoopbackCaller.get(port, answer, method: "POST").hasPrefix("HTTP/1.1 405"))
            #expect(LoopbackCaller.get(port, "/other?code=c&state=\(opened.state)").hasPrefix("HTTP/1.1 404"))
            #expect(LoopbackCaller.get(port, "/callback?code=c&state=guess").hasPrefix("HTTP/1.1 400"))
            #expect(
                LoopbackCaller.get(port, "/callback?code=c&state=a&state=\(opened.state)").hasPrefix("HTTP/1.1 400"))
            #expect(LoopbackCaller.get(port, "/callback?code=%zz&state=\(opened.state)").hasPrefix("HTTP/1.1 400"))
            #expect(LoopbackCaller.call(port, "nonsense\r\n\r\n").hasPrefix("HTTP/1.1 400"))
            #expect(LoopbackCaller.get(port, answer).hasPrefix("HTTP/1.1 200"))
        }
        #expect(played.posted.count == 1)
    }

    @Test(.enabled(if: geteuid() == 0)) func anotherUserWhoKnowsTheStateGetsARefusal() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        let script = #"""
            import socket, sys
            family, host = (socket.AF_INET6, "::1") if sys.argv[3] == "6" else (socket.AF_INET, "127.0.0.1")
            connection = socket.socket(family)
            connection.connect((host, int(sys.argv[1])))
            connection.sendall(f"GET {sys.argv[2]} HTTP/1.1\r\nHost: 127.0.0.1:{sys.argv[1]}\r\n\r\n".encode())
            if sys.argv[3] == "gone":
                connection.close()
            else:
                print(connection.recv(4096).decode().split("\r\n")[0])
            """#
        _ = try signIn(played) { opened in
            let answer = "/callback?code=stolen&state=\(opened.state)"
            let outputs = ["4", "6", "gone"].map { kind in
                let arguments = ["-c", script, "\(opened.port)", answer, kind]
                return (try? ChildProcess("/usr/bin/python3", arguments, environment: [:], user: 65534).finish())?
                    .output
            }
            #expect(outputs == ["HTTP/1.1 403 Forbidden\n", "HTTP/1.1 403 Forbidden\n", ""])
            #expect(
                LoopbackCaller.get(opened.port, "/callback?code=own&state=\(opened.state)").hasPrefix("HTTP/1.1 200"))
        }
        #expect(played.posted.map { $0["code"] } == ["own"])
    }

    /// Nobody can tell any more who sent the answer, and nobody gets its page.
    @Test func anAnswerWhoseConnectionIsResetDoesNotCount() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        var questions = 0
        _ = try SignIn.run(at: played.server, .test(.browser), until: .patient) {
            step throws(TokenKeepError) in
            let opened = OpenedAddress(step.address)
            questions += 1
            if questions == 1 {
                LoopbackCaller.reset(
                    opened.port,
                    "GET /callback?code=reset&state=\(opened.state) HTTP/1.1\r\nHost: 127.0.0.1:\(opened.port)\r\n\r\n")
            }
            // The listener has accepted the connection and read from it by then.
            return questions < 4 ? nil : try SecretBytes("\(opened.redirect)?code=right&state=\(opened.state)")
        }
        #expect(played.posted.map { $0["code"] } == ["right"])
    }

    @Test func manyCookiesOfOtherServersAreRead() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            let cookies = String(repeating: "a", count: 60_000)
            let request =
                "GET /callback?code=c&state=\(opened.state) HTTP/1.1\r\nCookie: \(cookies)\r\n"
                + "Host: 127.0.0.1:\(opened.port)\r\n\r\n"
            #expect(LoopbackCaller.call(opened.port, request).hasPrefix("HTTP/1.1 303"))
            _ = LoopbackCaller.get(opened.port, "/done")
        }
    }

    @Test func halfRequestsAndManyConnectionsHoldNobodyUp() throws {
        let played = PlayedServer(try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            var descriptors: [Int32] = []
            for _ in 0..<10_000 {
                let descriptor = LoopbackCaller.connected(opened.port)
                var half = Array("GET /callback?code=".utf8)
                send(descriptor, &half, half.count, Int32(MSG_NOSIGNAL))
                descriptors.append(descriptor)
                if descriptors.count > 200 { close(descriptors.removeFirst()) }
            }
            let long = String(repeating: "a", count: 80_000)
            _ = LoopbackCaller.get(opened.port, "/callback?code=\(long)&state=\(opened.state)")
            #expect(LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)").hasPrefix("HTTP/1.1 200"))
            descriptors.forEach { close($0) }
        }
        #expect(played.posted.first?["code"] == "c")
    }

    @Test(arguments: [
        ("&iss=https%3A%2F%2Fevil.example", false, "https://evil.example"), ("", true, "no issuer"),
        ("&iss=https%3A%2F%2Flogin.example.com%2F", false, "https://login.example.com/"),
        ("&iss=https%3A%2F%2Flogin.example.com/%E2%84%AA", false, "https://login.example.com/???"),
    ])
    func anAnswerOfAnotherIssuerIsDenied(field: String, isPromised: Bool, named: String) throws {
        let played = PlayedServer(try PlayedServer.tokens())
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(
                played,
                server: {
                    $0.promisesIssuer = isPromised
                    // The Kelvin sign is equal to this letter as a String.
                    if field.hasSuffix("%AA") { $0.issuer = "https://login.example.com/K" }
                }
            ) { opened in
                _ = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)\(field)")
            }
        }
        #expect(error.status == .denied && error.message.contains(named))
        #expect(error.message.contains("https://login.example.com"))
        #expect(played.posted.isEmpty)
    }

    @Test func aSecondAnswerIsNotRedeemed() throws {
        let played = PlayedServer(try PlayedServer.tokens(), try PlayedServer.tokens())
        _ = try signIn(played) { opened in
            let callers = ["first", "second"].map { code in
                let descriptor = LoopbackCaller.connected(opened.port)
                var request = Array(
                    "GET /callback?code=\(code)&state=\(opened.state) HTTP/1.1\r\nHost: 127.0.0.1:\(opened.port)\r\n\r\n"
                        .utf8)
                send(descriptor, &request, request.count, Int32(MSG_NOSIGNAL))
                return descriptor
            }
            // Until the listener has answered both, or is gone.
            for caller in callers {
                var byte: UInt8 = 0
                while recv(caller, &byte, 1, 0) == 1 {}
                close(caller)
            }
            _ = LoopbackCaller.get(opened.port, "/done")
        }
        #expect(played.posted.map { $0["code"] } == ["first"])
    }

    @Test func aRefusalOfTheUserCancels() throws {
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(PlayedServer()) { opened in
                _ = LoopbackCaller.get(opened.port, "/callback?error=access_denied&state=\(opened.state)")
            }
        }
        #expect(error.status == .cancelled)
    }

    @Test func theServersRefusalOfTheCodeIsDenied() throws {
        let played = PlayedServer(try PlayedServer.json(#"{"error":"invalid_grant"}"#, status: 400))
        let error = try #require(throws: TokenKeepError.self) {
            try signIn(played) { opened in
                _ = LoopbackCaller.get(opened.port, "/callback?code=c&state=\(opened.state)")
            }
        }
        #expect(error.status == .denied && error.message.contains("invalid_grant"))
    }
}
