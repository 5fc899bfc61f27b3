import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepOAuth
import TokenKeepSession

/// Sessions whose requests go to the tests' server, by a provider's file.
@Suite struct SessionServerTests {
    private let server: LyingServer
    private let directory = TemporaryDirectory(inMemory: true)
    private let store: Store

    init() throws {
        server = try LyingServer()
        store = try Store(inVaultOf: directory)
    }

    private func provider(_ name: String, _ lines: [String]) throws -> Provider {
        let text =
            lines.joined(separator: "\n").replacing("ORIGIN", with: server.origin(name))
            + (name == "http" ? "\n" : "\nca_file = \(server.authority)\n")
        let path = directory.path + "/example.conf"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return try ProviderFiles(directories: [directory.path]).provider(path: path)
    }

    /// A session whose token is over.
    private func session(
        on name: String = "https", _ lines: String..., lifetime: Int = 0
    ) throws -> SessionEngine {
        let provider = try provider(name, lines)
        var options = SessionOptions(transport: { request throws(TokenKeepError) in
            try SessionServer.send(request, to: provider)
        })
        options.transportNotesSending = true
        options.provider = "example"
        options.pause = { _, _ in }
        let session = try SessionEngine(store, service: "api.example.com", account: "ann", options)
        try session.begin(
            .user,
            response: SecretBytes(
                #"{"access_token":"access-1","token_type":"Bearer","expires_in":\#(lifetime),"#
                    + #""refresh_token":"refresh-1"}"#))
        return session
    }

    private func status(_ body: () throws -> Void) -> Status? {
        do {
            try body()
            return nil
        } catch {
            return (error as? TokenKeepError)?.status
        }
    }

    @Test func aTokenIsRenewedByOneRequest() throws {
        let session = try session("token_endpoint = ORIGIN/token", "client_id = app")
        #expect(try session.token().value == SecretBytes("access-2"))
        #expect(
            try server.requests == ["https POST /token grant_type=refresh_token&refresh_token=refresh-1&client_id=app"])
        #expect(try session.info().refreshingProcess == nil)
    }

    /// A server that has moved its endpoints says so in its metadata, which are kept for a day.
    @Test func anEndpointThatIsGoneIsLookedUpAgain() throws {
        let session = try session("issuer = ORIGIN/moved")
        for _ in 0..<2 { #expect(status { _ = try session.token() } == .unavailable) }
        let paths = try server.requests.map { $0.split(separator: " ")[2] }
        #expect(paths.filter { $0.contains("well-known") }.count == 2)
        #expect(paths.filter { $0 == "/nowhere" }.count == 2)
    }

    /// A proxy that answers 404 to everything.
    @Test func anEndpointIsKnownWhileNoOtherIs() throws {
        let session = try session("issuer = ORIGIN/moved")
        #expect(status { _ = try session.token() } == .unavailable)
        #expect(FileManager.default.createFile(atPath: server.directory.path + "/gone", contents: nil))
        #expect(status { _ = try session.token() } == .unavailable)
        #expect(try server.requests.filter { $0.contains("POST /nowhere") }.count == 2)
    }

    @Test func anEndpointOfTheFileSaysNothingAboutMetadata() throws {
        let lines = ["issuer = ORIGIN/moved", "token_endpoint = ORIGIN/nowhere"]
        let provider = try provider("https", lines)
        #expect(try provider.endpoint(.revocationEndpoint, until: .patient) != nil)
        let session = try session("issuer = ORIGIN/moved", "token_endpoint = ORIGIN/nowhere")
        #expect(status { _ = try session.token() } == .unavailable)
        #expect(try provider.endpoint(.revocationEndpoint, until: .patient) != nil)
        #expect(try server.requests.filter { $0.contains("well-known") }.count == 1)
    }

    @Test(arguments: ["expired", "selfsigned", "otherhost"])
    func aWrongCertificateLeavesTheRefreshTokenUnsent(name: String) throws {
        let session = try session(on: name, "token_endpoint = ORIGIN/token")
        #expect(status { _ = try session.token() } == .unavailable)
        #expect(try server.requests.isEmpty)
        #expect(try session.info().refreshingProcess == nil)
    }

    @Test(arguments: ["/cuts", "/half", "/redirect", "/huge"])
    func anAnswerThatIsNoneIsAnUnknownOutcome(path: String) throws {
        let session = try session("token_endpoint = ORIGIN\(path)")
        #expect(status { _ = try session.token() } == .unavailable)
        #expect(try server.requests.count == 1)
        #expect(try session.info().refreshingProcess != nil)
    }

    @Test func theBytesOfACutAnswerAreKeptInTheRecord() throws {
        let session = try session("token_endpoint = ORIGIN/half")
        #expect(status { _ = try session.token() } == .unavailable)
        let record = try store.load(service: "api.example.com", account: "ann").secret.utf8String ?? ""
        #expect(record.contains(#""unread":"\#(Data("half".utf8).base64EncodedString())""#))
    }

    @Test func aRefusalWithStatus200EndsTheSession() throws {
        let session = try session("token_endpoint = ORIGIN/refuses")
        #expect(status { _ = try session.token() } == .needsLogin)
    }

    @Test func theClientsSecretIsLoadedFromItsItem() throws {
        _ = try store.save(
            SaveRequest(
                name: ItemName(namespace: "", service: "client", account: "app"), secret: SecretBytes("a:b%")))
        let session = try session(
            "token_endpoint = ORIGIN/token", "client_id = my app", "client_secret = item client app")
        _ = try session.token()
        let credentials = Data("my%20app:a%3Ab%25".utf8).base64EncodedString()
        #expect(
            try server.requests == [
                "https POST /token grant_type=refresh_token&refresh_token=refresh-1 Basic \(credentials)"
            ])
    }

    @Test func theClientsSecretMayBeAPartOfTheForm() throws {
        _ = try store.save(
            SaveRequest(name: ItemName(namespace: "", service: "client", account: ""), secret: SecretBytes("s&")))
        let session = try session(
            "token_endpoint = ORIGIN/token", "client_id = app", "client_secret = item client",
            "auth_method = client_secret_post")
        _ = try session.token()
        #expect(try server.requests[0].hasSuffix("&client_id=app&client_secret=s%26"))
    }

    @Test func aMissingSecretSendsNothing() throws {
        let session = try session(
            "token_endpoint = ORIGIN/token", "client_id = app", "client_secret = item client app")
        #expect(status { _ = try session.token() } == .denied)
        #expect(try server.requests.isEmpty)
    }

    @Test func resourceAndAudienceAreParts() throws {
        let session = try session(
            "token_endpoint = ORIGIN/token", "resource = https://r.example", "audience = api", lifetime: 0)
        _ = try session.token()
        #expect(try server.requests[0].hasSuffix("&resource=https%3A%2F%2Fr.example&audience=api"))
        let target = try TokenTarget(resource: "https://other.example", scope: nil)
        #expect(try session.token(for: target).value == SecretBytes("access-3-https://other.example"))
        #expect(try server.requests[1].hasSuffix("refresh_token=refresh-2&resource=https%3A%2F%2Fother.example"))
    }

    @Test func aLogoutRevokes() throws {
        let session = try session("revocation_endpoint = ORIGIN/revoke", "client_id = app", lifetime: 3600)
        #expect(try session.end().revocation == .done)
        #expect(
            try server.requests == [
                "https POST /revoke token=refresh-1&token_type_hint=refresh_token&client_id=app"
            ])
    }

    @Test func aTokenIsValidated() throws {
        let session = try session("userinfo_endpoint = ORIGIN/me", lifetime: 3600)
        try session.validate()
        #expect(try server.requests == ["https GET /me  Bearer access-1"])
    }

    @Test func anExtensionIsAskedForInTheProvidersUnit() throws {
        let session = try session(
            "extend_endpoint = ORIGIN/extend", "extend_field = minutes", "extend_unit = minutes", lifetime: 3600)
        try session.extend(by: 601)
        #expect(try server.requests == ["https POST /extend minutes=11 Bearer access-1"])
    }

    @Test func aProviderWithoutTheEndpointIsUnsupported() throws {
        let session = try session("scope = read", lifetime: 3600)
        #expect(status { try session.validate() } == .unsupported)
        #expect(status { _ = try session.refresh() } == .unsupported)
        #expect(try session.end().revocation == .queued)
    }

    @Test func aServerThatIsAwayIsAskedThreeTimesAndTheTokenIsStillGood() throws {
        let lost = try session("token_endpoint = http://127.0.0.1:1/token")
        #expect(status { _ = try lost.token() } == .unavailable)
        let session = try session("token_endpoint = ORIGIN/token")
        #expect(try session.token().value == SecretBytes("access-2"))
    }
}
