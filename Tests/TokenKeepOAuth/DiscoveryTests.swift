import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepOAuth

@Suite struct DiscoveryTests {
    private let server: LyingServer
    private let cache = TemporaryDirectory(inMemory: true)

    init() throws { server = try LyingServer() }

    private func endpoint(
        _ path: String, _ key: ProviderKey = .tokenEndpoint, on name: String = "https", caFile: String? = nil
    ) throws -> String? {
        let issuer = try WebAddress(server.origin(name) + path)
        let discovery = Discovery(
            issuer: issuer, caFile: name == "http" ? nil : caFile ?? server.authority, cache: cache.path + "/kept")
        return try discovery.endpoint(key, in: discovery.metadata(until: .patient))?.text
    }

    /// Makes the kept metadata so old that the server is asked again.
    private func age() throws {
        let folder = cache.path + "/kept"
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: folder).first)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -86_401)], ofItemAtPath: "\(folder)/\(name)")
    }

    private func fault(of path: String) -> TokenKeepError? {
        do {
            _ = try endpoint(path)
            return nil
        } catch {
            return error as? TokenKeepError
        }
    }

    @Test(arguments: ["", "/tenant/a"])
    func theMetadataOfRFC8414IsFoundWithThePathInserted(path: String) throws {
        #expect(try endpoint(path) == server.origin("https") + "/token")
        #expect(try server.requests == ["https GET /.well-known/oauth-authorization-server\(path)"])
    }

    @Test func theMetadataOfOpenIDConnectIsFoundBehindThePath() throws {
        #expect(try endpoint("/oidc") == server.origin("https") + "/token")
        #expect(
            try server.requests == [
                "https GET /.well-known/oauth-authorization-server/oidc",
                "https GET /oidc/.well-known/openid-configuration",
            ])
    }

    @Test func metadataIsKept() throws {
        for _ in 0..<2 { #expect(try endpoint("") != nil) }
        #expect(try server.requests.count == 1)
    }

    @Test func metadataThatOtherAuthoritiesVouchedForIsAskedForAgain() throws {
        _ = try endpoint("")
        #expect(throws: TokenKeepError.self) { try endpoint("", caFile: server.directory.path + "/selfsigned.pem") }
        #expect(try endpoint("") != nil)
        #expect(try server.requests.count == 1)
    }

    @Test func metadataOfYesterdayIsAskedForAgain() throws {
        _ = try endpoint("")
        try age()
        _ = try endpoint("")
        #expect(try server.requests.count == 2)
    }

    /// The token endpoint may be on another host.
    @Test func metadataOfYesterdayServeWhileTheServerIsAway() throws {
        let address = try endpoint("")
        try age()
        server.stop()
        #expect(try endpoint("") == address)
    }

    @Test(arguments: ["/noissuer", "/twoissuers", "/cutoff"])
    func metadataAreAlsoSoughtAtTheSecondAddress(path: String) throws {
        #expect(try endpoint(path) == server.origin("https") + "/token")
        #expect(try server.requests.count == 2)
    }

    @Test func anEndpointThatNobodyUsesNeedNotBeRight() throws {
        #expect(try endpoint("/blank") == server.origin("https") + "/token")
        #expect(try endpoint("/blank", .endSessionEndpoint) == nil)
        #expect(try endpoint("/blank", .revocationEndpoint) == nil)
        #expect(throws: TokenKeepError.self) { try endpoint("/blank", .deviceAuthorizationEndpoint) }
    }

    @Test func metadataThatAreForgottenAreAskedForAgain() throws {
        _ = try endpoint("")
        try Discovery(
            issuer: WebAddress(server.origin("https")), caFile: server.authority, cache: cache.path + "/kept"
        ).forget()
        _ = try endpoint("")
        #expect(try server.requests.count == 2)
    }

    /// A proxy that answers 404 to everything takes no metadata away.
    @Test func metadataThatAreForgottenStayUntilTheServerGivesOthers() throws {
        _ = try endpoint("")
        let gone = server.directory.path + "/gone"
        #expect(FileManager.default.createFile(atPath: gone, contents: nil))
        try Discovery(
            issuer: WebAddress(server.origin("https")), caFile: server.authority, cache: cache.path + "/kept"
        ).forget()
        for _ in 0..<2 { #expect(try endpoint("") == server.origin("https") + "/token") }
        #expect(try server.requests.count == 1 + 2 * 2)
        try FileManager.default.removeItem(atPath: gone)
        for _ in 0..<2 { _ = try endpoint("") }
        #expect(try server.requests.count == 1 + 2 * 2 + 1)
    }

    @Test func keptMetadataOfAnotherIssuerIsNotUsed() throws {
        _ = try endpoint("")
        let folder = cache.path + "/kept"
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: folder).first)
        try #"{"issuer":"https://evil.example","token_endpoint":"https://evil.example/t"}"#.write(
            toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
        #expect(try endpoint("") == server.origin("https") + "/token")
    }

    @Test func anotherIssuerIsDeniedAndBothAreNamed() throws {
        let error = try #require(fault(of: "/otherissuer"))
        #expect(error.status == .denied)
        #expect(error.message.contains(server.origin("https") + "/otherissuer"))
        #expect(error.message.contains(server.origin("https") + "/other\""))
    }

    @Test(arguments: ["/plain", "/notext"])
    func anEndpointThatIsNotHTTPSIsDenied(path: String) { #expect(fault(of: path)?.status == .denied) }

    @Test func aServerWithoutMetadataIsUnavailable() { #expect(fault(of: "/none")?.status == .unavailable) }

    @Test func aServerOnThisMachineMayBePlain() throws {
        #expect(try endpoint("", on: "http") == server.origin() + "/token")
    }
}
