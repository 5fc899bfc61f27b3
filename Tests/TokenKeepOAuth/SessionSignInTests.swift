import Foundation
import Synchronization
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepOAuth
import TokenKeepRecords
import TokenKeepSession

/// Sign-ins that begin a session, at the tests' server, by device code.
@Suite struct SessionSignInTests {
    let server: LyingServer
    let directory = TemporaryDirectory(inMemory: true)
    let store: Store

    init() throws {
        server = try LyingServer()
        store = try Store(inVaultOf: directory)
    }

    func provider(
        _ name: String = "example", more: String = "", token: String = "/token", revocation: String = "/revoke"
    ) throws -> Provider {
        let text = """
            client_id = app
            token_endpoint = ORIGIN\(token)
            authorization_endpoint = ORIGIN/authorize
            device_authorization_endpoint = ORIGIN/device
            revocation_endpoint = ORIGIN\(revocation)
            ca_file = \(server.authority)
            \(more)
            """
        let path = directory.path + "/\(name).conf"
        try text.replacing("ORIGIN", with: server.origin("https")).write(
            toFile: path, atomically: false, encoding: .utf8)
        return try ProviderFiles(directories: [directory.path]).provider(path: path)
    }

    func login(
        _ account: String?, scope: String? = nil, more: String = "", _ change: (inout SessionOptions) -> Void = { _ in }
    ) throws -> SessionEngine {
        var options = SessionOptions(timeoutMilliseconds: Patience.milliseconds)
        change(&options)
        let login = try SessionSignIn(
            store, service: "api.example.com", account: account, at: provider(more: more),
            .test(.device, scope: scope), options)
        return try login.run(until: .patient) { _ throws(TokenKeepError) in nil }.session
    }

    func fault(_ body: () throws -> Void) throws -> TokenKeepError {
        try #require(throws: TokenKeepError.self) { try body() }
    }

    var revocations: [String] {
        get throws { try server.requests.filter { $0.contains("/revoke") } }
    }

    @Test func aSessionBegins() throws {
        let session = try login("ann")
        #expect(try session.token().value == SecretBytes("access-2"))
        #expect(try session.info().provider == "example")
        #expect(try revocations.isEmpty)
    }

    @Test func tokensThatNameNoAccountAreRevoked() throws {
        let error = try fault { _ = try login(nil, scope: "openid") }
        #expect(error.status == .denied && error.message.contains("were revoked"))
        #expect(
            try revocations == ["https POST /revoke token=refresh-2&token_type_hint=refresh_token&client_id=app"])
    }

    @Test func aTokenThatWaitsToBeRevokedIsSentBeforeTheNextSignInRedeems() throws {
        _ = try login("ann").end()
        #expect(try store.list(service: Outbox.service).items.count == 1)
        #expect(try login("ann").token().value == SecretBytes("access-3"))
        let order = try server.requests.filter { $0.contains("/revoke") || $0.contains("/token") }
        #expect(order.firstIndex { $0.contains("/revoke") } == 2, "\(order)")
        #expect(try store.list(service: Outbox.service).items.isEmpty)
    }

    @Test func aTokenThatCannotBeRevokedBeforeTheNextSignInIsDroppedAfterIt() throws {
        _ = try login("ann").end()
        let login = try SessionSignIn(
            store, service: "api.example.com", account: "ann", at: provider(revocation: "/fails"),
            .test(.device), SessionOptions())
        _ = try login.run(until: .patient) { _ throws(TokenKeepError) in nil }
        #expect(try store.list(service: Outbox.service).items.isEmpty)
        #expect(try revocations.isEmpty)
    }

    @Test func aSessionOfTheProviderIsNotHarmedByARevocation() throws {
        let session = try login("ann")
        let error = try fault { _ = try login(nil, scope: "openid", more: "sessions_page = https://page.example/") }
        #expect(error.message.contains("still valid at the server: end it at https://page.example/"))
        #expect(try revocations.isEmpty)
        #expect(try session.token().value == SecretBytes("access-2"))
    }

    @Test func aSessionOfAnotherNamespaceIsNotHarmedByARevocation() throws {
        var configuration = StoreConfiguration(
            stackText: "any required vault", timeoutMilliseconds: Patience.milliseconds)
        configuration.namespace = "other"
        configuration.vaultPath = directory.path + "/vault"
        configuration.residentKeys = ClassKeyStore(simulatingKernelAt: { 0 })
        var options = SessionOptions()
        options.provider = "example"
        let other = try SessionEngine(Store(configuration), service: "api.example.com", account: "ann", options)
        try other.begin(.user, response: SecretBytes(#"{"access_token":"a","refresh_token":"r"}"#))
        let error = try fault { _ = try login(nil, scope: "openid") }
        #expect(error.message.contains("still valid at the server"))
        #expect(try revocations.isEmpty)
        _ = try other.end(isLocalOnly: true)
        #expect(try fault { _ = try login(nil, scope: "openid") }.message.contains("were revoked"))
    }

    /// Signs in as an account, while the browser is signed in as a person `SUB/EMAIL`; an email "-" is none.
    private func login(
        _ account: String?, as person: String, service: String = "api.example.com", takesAnyone: Bool = false
    ) throws -> (session: SessionEngine, signedIn: SignedIn) {
        var login = try SessionSignIn(
            store, service: service, account: account, at: provider(token: "/token-as/\(person)"),
            .test(.device, scope: "openid"), SessionOptions())
        login.takesAnyone = takesAnyone
        return try login.run(until: .patient) { _ throws(TokenKeepError) in nil }
    }

    @Test func aSignInOfAnotherPersonChangesNothing() throws {
        let session = try login("ann@example.com", as: "u1/ann@example.com").session
        let error = try fault { _ = try login("ann@example.com", as: "u2/bob@example.com") }
        #expect(error.status == .denied)
        #expect(
            error.message
                == "bob@example.com (sub u2) has signed in, and the session of \(session.name) is that of ann@example.com "
                + "(sub u1); the sign-in was not kept, and its tokens were revoked")
        #expect(error.hint?.contains("--any-account") == true)
        #expect(
            try revocations == ["https POST /revoke token=refresh-3&token_type_hint=refresh_token&client_id=app"])
        #expect(try session.token().value == SecretBytes("access-2"))
    }

    @Test func anAddressThatIsNotThePersonsIsDenied() throws {
        let error = try fault { _ = try login("ann@example.com", as: "u2/bob@example.com") }
        #expect(
            error.message
                == "bob@example.com has signed in, expected ann@example.com; the sign-in was not kept, and its "
                + "tokens were revoked")
        #expect(try revocations.count == 1)
    }

    @Test(arguments: [
        ("ANN@Example.com", "u1/ann@example.com", true), ("work", "u1/ann@example.com", false),
        ("ann@example.com", "u1/-", false), ("u1", "u1/-", true), ("ann@example.com", "u1/ann", false),
    ])
    func anyOtherNameIsKeptAndThePersonIsKnown(account: String, person: String, isCalled: Bool) throws {
        let (session, signedIn) = try login(account, as: person)
        #expect(session.name.account == account && signedIn.person?.isCalled(account) == isCalled)
        #expect(try revocations.isEmpty)
    }

    @Test func thePersonOfASessionMayChangeTheAddress() throws {
        _ = try login("ann@example.com", as: "u1/ann@example.com")
        #expect(try login("ann@example.com", as: "u1/ann@other.example").signedIn.account == "ann@other.example")
    }

    @Test func aSignInOfAnotherPersonIsKeptIfAnyAccountWillDo() throws {
        _ = try login("ann@example.com", as: "u1/ann@example.com")
        let session = try login("ann@example.com", as: "u2/bob@example.com", takesAnyone: true).session
        #expect(try session.token().value == SecretBytes("access-3"))
    }

    @Test func anAccountOfThePersonsOwnNameMayHaveASessionOfAnother() throws {
        _ = try login(nil, as: "u1/ann@example.com")
        #expect(try fault { _ = try login(nil, as: "u2/ann@example.com") }.status == .denied)
    }

    /// Many servers revoke every token of the user and the client with one.
    @Test func anotherSessionOfThePersonIsNotHarmedByARevocation() throws {
        let bob = try login("bob", as: "u2/bob@example.com").session
        let error = try fault { _ = try login("ann@example.com", as: "u2/bob@example.com") }
        #expect(error.message.contains("still valid at the server"))
        #expect(try revocations.isEmpty)
        #expect(try bob.token().value == SecretBytes("access-2"))
    }

    @Test func theUserinfoEndpointNamesTheAccountIfThereIsNoIDToken() throws {
        let more = "account_claim = login\nuserinfo_endpoint = ORIGIN/user/u7/annlogin"
        #expect(try login(nil, more: more).name.account == "annlogin")
        #expect(try login("ann", more: more).name.account == "ann")
        #expect(try server.requests.filter { $0.contains("GET /user") }.count == 2)
    }

    /// Adds scopes to the session of an account; nil for the active one.
    private func add(_ scopes: String, to account: String? = nil, token: String = "/token") throws -> SignedIn {
        var options = SignInOptions.test(.device)
        options.scope.added = scopes
        let login = try SessionSignIn(
            store, service: "api.example.com", account: account, at: provider(token: token), options, SessionOptions())
        return try login.run(until: .patient) { _ throws(TokenKeepError) in nil }.signedIn
    }

    @Test func scopesAreAddedToThoseOfTheSession() throws {
        let session = try login("ann", scope: "read write")
        #expect(try session.info().scope == "read write")
        _ = try add("write admin")
        #expect(try session.info().scope == "read write admin")
        #expect(try server.requests.contains { $0.contains("/device scope=read%20write%20admin&client_id=app") })
        #expect(try session.token().value == SecretBytes("access-3"))
    }

    @Test func aSessionStaysIfTheServerDoesNotGrantTheScope() throws {
        let session = try login("ann", scope: "read")
        let error = try fault { _ = try add("write", to: "ann", token: "/scant") }
        #expect(error.status == .denied && error.message.hasPrefix("the server did not grant write; "))
        #expect(try session.token().value == SecretBytes("access-2"))
    }

    @Test func scopesAreAddedToAPresentSessionOfTheProviderAlone() throws {
        let missing = try fault { _ = try add("write", to: "ann") }
        #expect(missing.status == .notFound && missing.message.hasPrefix("nobody is signed in as "))
        var options = SessionOptions()
        options.provider = "other"
        let other = try SessionEngine(store, service: "api.example.com", account: "ann", options)
        try other.begin(.user, response: SecretBytes(#"{"access_token":"a","refresh_token":"r"}"#))
        let error = try fault { _ = try add("write", to: "ann") }
        #expect(error.message == "the session of \(other.name) is not one of the provider example")
        #expect(error.hint == "--provider other")
    }

    @Test func parametersOfTheFileAndOfTheSignInAreSent() throws {
        var options = SignInOptions.test(.device)
        options.scope.parameters = ["prompt": "login", "access_type": ""]
        let more = "parameter prompt = consent\nparameter access_type = offline\nparameter organization = org 1"
        let login = try SessionSignIn(
            store, service: "api.example.com", account: "ann", at: provider(more: more), options, SessionOptions())
        _ = try login.run(until: .patient) { _ throws(TokenKeepError) in nil }
        #expect(try server.requests.contains { $0.contains("/device organization=org%201&prompt=login&client_id=app") })
    }

    @Test func anIDTokenIsReadAndRenewed() throws {
        let session = try login("ann", as: "u1/ann@example.com").session
        let present = try SessionIDToken.fresh(of: session, minTTL: 0)
        #expect(UnverifiedClaims(unverified: present.value)?.unverified("sub") == "u1")
        let end = try #require(present.expiresAt?.rawValue)
        #expect(UnverifiedClaims(unverified: present.value)?.unverified("exp") == "\(end)")
        let other = try login("bob")
        let error = try fault { _ = try SessionIDToken.fresh(of: other, minTTL: 0) }
        #expect(error.message == "the session of \(other.name) has no ID token")
    }

    /// The tokens end in the year 1970, or never.
    @Test(arguments: [(#","id_token":"e30.e30.c2ln""#, true), ("", false)])
    func anIDTokenThatIsOverIsRenewedWithTheSession(member: String, isGiven: Bool) throws {
        var options = SessionOptions()
        options.transport = { _ throws(TokenKeepError) in
            SessionResponse(status: 200, headers: [], body: try SecretBytes(#"{"access_token":"b"\#(member)}"#))
        }
        let session = try SessionEngine(store, service: "api.example.com", account: "ann", options)
        try session.begin(
            .user,
            response: SecretBytes(
                #"{"access_token":"a","refresh_token":"r","expires_in":3600,"id_token":"e30.eyJleHAiOjEwMDB9.c2ln"}"#))
        guard isGiven else {
            let error = try fault { _ = try SessionIDToken.fresh(of: session, minTTL: 0) }
            #expect(
                error.message
                    == "the ID token of \(session.name) is over, and the server gave no other with the refresh")
            return #expect(error.status == .expired)
        }
        #expect(try SessionIDToken.fresh(of: session, minTTL: 0).value == SecretBytes("e30.e30.c2ln"))
    }

    /// The token endpoint whose answers have other members.
    private func endpoint(_ members: String) -> String {
        "/token-with/" + members.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func login(answering members: String) throws -> SessionEngine {
        let login = try SessionSignIn(
            store, service: "api.example.com", account: "ann", at: provider(token: endpoint(members)), .test(.device),
            SessionOptions())
        return try login.run(until: .patient) { _ throws(TokenKeepError) in nil }.session
    }

    @Test(arguments: [
        (#"{"token_type":"DPoP"}"#, "(DPoP)"), (#"{"token_type":"mac"}"#, "token_type"),
        (#"{"token_type":7}"#, "token_type"),
        (#"{"access_token":"a\u0000b"}"#, "access_token"),
    ])
    func tokensWithWhichNoSessionCanBeginAreRevoked(members: String, word: String) throws {
        let error = try fault { _ = try login(answering: members) }
        #expect(error.status == .unsupported && error.message.contains(word))
        #expect(error.message.hasSuffix("; the sign-in was not kept, and its tokens were revoked"))
        #expect(error.hint?.contains("proxy") != true)
        #expect(try revocations.count == 1)
    }

    @Test(arguments: [#"{"refresh_token":false}"#, #"{"refresh_token":{"a":1}}"#, #"{"id_token":12}"#])
    func aTokenOfAWrongTypeBesideTheAccessTokenCountsAsMissing(members: String) throws {
        let session = try login(answering: members)
        #expect(try session.token().value == SecretBytes("access-2"))
        #expect(try session.info().canRenew == members.contains("id_token"))
        #expect(try session.sealed().idToken == nil)
        #expect(try revocations.isEmpty)
    }

    /// This machine's clock is two hours ahead of the server's.
    @Test func aJSONWebTokenOfASignInEndsByTheServersClock() throws {
        let session = try login(answering: #"{"skew":-7200,"life":3600}"#)
        let token = try session.token()
        #expect(UnverifiedClaims(unverified: token.value) != nil)
        #expect(token.secondsLeft ?? 0 > 60 && !token.isShort)
    }

    /// The person of the session stays known if the server later sends no such ID token.
    @Test(arguments: ["opaque", "e30.e30.c2ln"])
    func anotherPersonIsDeniedAfterARefreshWithoutAPerson(idToken: String) throws {
        _ = try login("ann", as: "u1/-")
        var options = SessionOptions()
        options.transport = { _ throws(TokenKeepError) in
            SessionResponse(status: 200, body: try SecretBytes(#"{"access_token":"b","id_token":"\#(idToken)"}"#))
        }
        _ = try SessionEngine(store, service: "api.example.com", account: "ann", options).refresh()
        let error = try fault { _ = try login("ann", as: "u2/-") }
        #expect(error.status == .denied && error.message.contains("(sub u2) has signed in"))
        #expect(error.message.contains("is that of u1"))
        #expect(try login("ann", as: "u1/-").session.token().value == SecretBytes("access-4"))
    }

    @Test func anAnswerThatArrivesAfterACancellationIsRevoked() throws {
        let cancellation = Cancellation()
        let held = Mutex<[Bool]>([])
        let login = try SessionSignIn(
            store, service: "api.example.com", account: "ann", at: provider(), .test(.device),
            {
                var options = SessionOptions()
                options.whileSending = { isSending in
                    held.withLock { $0.append(isSending) }
                    // Between the last check and the answer of the second poll.
                    if held.withLock({ $0.count { $0 } }) == 2, isSending {
                        _ = DetachedThread.start {
                            while (try? server.requests.count { $0.contains("device-1") }) ?? 0 < 2 { sched_yield() }
                            cancellation.cancel()
                            close(open(server.directory.path + "/gate", O_WRONLY))
                        }
                    }
                }
                return options
            }())
        #expect(mkfifo(server.directory.path + "/gate", 0o600) == 0)
        let error = try fault {
            _ = try login.run(until: .patient.cancelled(by: cancellation)) {
                _ throws(TokenKeepError) in nil
            }
        }
        #expect(error.status == .cancelled)
        #expect(try revocations.count == 1)
        #expect(held.withLock { $0 } == [true, false, true, false])
    }

    @Test func anIssuerWithoutMetadataNeedsNoneIfTheFileHasTheEndpoints() throws {
        let session = try login("ann", more: "issuer = ORIGIN/none")
        #expect(try session.token().value == SecretBytes("access-2"))
        #expect(try server.requests.filter { $0.contains(".well-known") }.count == 2)
    }
}
