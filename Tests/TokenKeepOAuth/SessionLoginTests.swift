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
@Suite struct SessionLoginTests {
    private let server: LyingServer
    private let directory = TemporaryDirectory(inMemory: true)
    private let store: Store

    init() throws {
        server = try LyingServer()
        store = try Store(inVaultOf: directory)
    }

    private func provider(
        _ name: String = "example", more: String = "", revocation: String = "/revoke"
    ) throws -> Provider {
        let text = """
            client_id = app
            token_endpoint = ORIGIN/token
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

    private func login(
        _ account: String?, scope: String? = nil, more: String = "", _ change: (inout SessionOptions) -> Void = { _ in }
    ) throws -> Session {
        var options = SessionOptions(timeoutMilliseconds: 2000)
        change(&options)
        let login = try SessionLogin(
            store, service: "api.example.com", account: account, at: provider(more: more),
            .test(.device, scope: scope), options)
        return try login.run(until: Deadline(milliseconds: 30_000)) { _ throws(TokenKeepError) in nil }.session
    }

    private func fault(_ body: () throws -> Void) throws -> TokenKeepError {
        try #require(throws: TokenKeepError.self) { try body() }
    }

    private var revocations: [String] {
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

    @Test func aRevocationWithoutAnAnswerEndsAtItsLimit() throws {
        var login = try SessionLogin(
            store, service: "api.example.com", account: nil, at: provider(revocation: "/hangs"),
            .test(.device, scope: "openid"), SessionOptions())
        login.revocationLimit = 100
        let usual = Mutex<Deadline?>(nil)
        let error = try fault {
            _ = try login.run(until: Deadline(milliseconds: 30_000)) { _ throws(TokenKeepError) in
                usual.withLock { $0 = Deadline(milliseconds: 10_000) }
                return nil
            }
        }
        #expect(error.status == .denied && error.message.contains("still valid at the server"))
        #expect(usual.withLock { $0?.hasPassed } == false)
    }

    @Test func tokensOfASessionThatIsBusyAreRevoked() throws {
        let name = try ItemName(namespace: store.namespace, service: "api.example.com", account: "ann")
        let call = CallContext(deadline: Deadline(milliseconds: 1000))
        let lock = try SessionLock.acquire(.change, of: name, store.records, call)
        let error = try fault { _ = try login("ann") { $0.timeoutMilliseconds = 300 } }
        #expect(error.status == .busy && error.message.contains("were revoked"))
        #expect(try revocations.count == 1)
        _ = consume lock
    }

    @Test func aSessionOfTheProviderIsNotHarmedByARevocation() throws {
        let session = try login("ann")
        let error = try fault { _ = try login(nil, scope: "openid", more: "sessions_page = https://page.example/") }
        #expect(error.message.contains("still valid at the server: end it at https://page.example/"))
        #expect(try revocations.isEmpty)
        #expect(try session.token().value == SecretBytes("access-2"))
    }

    @Test func aSessionOfAnotherNamespaceIsNotHarmedByARevocation() throws {
        var configuration = StoreConfiguration(stackText: "any required vault", timeoutMilliseconds: 20_000)
        configuration.namespace = "other"
        configuration.vaultPath = directory.path + "/vault"
        configuration.residentKeys = ClassKeyStore(simulatingKernelAt: { 0 })
        var options = SessionOptions()
        options.provider = "example"
        let other = try Session(Store(configuration), service: "api.example.com", account: "ann", options)
        try other.begin(.user, response: SecretBytes(#"{"access_token":"a","refresh_token":"r"}"#))
        let error = try fault { _ = try login(nil, scope: "openid") }
        #expect(error.message.contains("still valid at the server"))
        #expect(try revocations.isEmpty)
        _ = try other.end(isLocalOnly: true)
        #expect(try fault { _ = try login(nil, scope: "openid") }.message.contains("were revoked"))
    }

    @Test func anAnswerThatArrivesAfterACancellationIsRevoked() throws {
        let cancellation = Cancellation()
        let held = Mutex<[Bool]>([])
        let login = try SessionLogin(
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
            _ = try login.run(until: Deadline(milliseconds: 30_000, cancellation: cancellation)) {
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
