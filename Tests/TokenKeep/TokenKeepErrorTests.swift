import Foundation
import Testing
import TokenKeep

@Suite struct TokenKeepErrorTests {
    private func errorOfALoad() async throws -> any Error {
        let store = try TokenStore(.init(stackText: "any required memory"))
        return try #require(
            await #expect(throws: (any Error).self) { try await store.load(service: "example.com", account: "ann") })
    }

    @Test func foundationShowsTheMessage() async throws {
        #expect(try await errorOfALoad().localizedDescription.hasPrefix("no item example.com (ann)"))
        let error: any Error = TokenKeepError(.io, "the disk is full", module: "vault")
        #expect(error.localizedDescription == "the disk is full (vault)")
        #expect("\(error)" == "IO: the disk is full (vault)")
    }

    @Test func foundationShowsTheRecoverySuggestion() throws {
        let error = #expect(throws: TokenKeepError.self) {
            try TokenStore(.init(stackText: "any required nonsense here"))
        }
        let suggestion = try #require(error as (any LocalizedError)?).recoverySuggestion
        #expect(suggestion != nil)
        #expect(TokenKeepError(.locked, "", recoverySuggestion: "unlock").recoverySuggestion == "unlock")
    }

    @Test func aCatchClauseNamesTheStatus() async throws {
        let store = try TokenStore(.init(stackText: "any required memory"))
        do {
            _ = try await store.load(service: "example.com", account: "ann")
            Issue.record("loaded")
        } catch TokenKeepError.Status.locked {
            Issue.record("locked")
        } catch TokenKeepError.Status.notFound {
        }
        #expect(!(TokenKeepError.Status.cancelled ~= CancellationError()))
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300])
    func anExpiryDateOutOfRangeIsInvalid(seconds: Double) async throws {
        let store = try TokenStore(.init(stackText: "any required memory"))
        let options = TokenStore.SaveOptions(expiresAt: Date(timeIntervalSince1970: seconds))
        await expect(.invalid, "the expiry date is out of range") {
            try await store.save("x", service: "s", account: "a", options: options)
        }
    }

    @Test func aFractionOfASecondExpiresEarlier() async throws {
        let store = try TokenStore(.init(stackText: "any required memory"))
        let options = TokenStore.SaveOptions(expiresAt: Date(timeIntervalSince1970: 2_000_000_000.75))
        try await store.save("x", service: "s", account: "a", options: options)
        let item = try await store.load(service: "s", account: "a")
        #expect(item.details.expiresAt == Date(timeIntervalSince1970: 2_000_000_000))
    }

    @Test func aSecretIsNotShown() throws {
        let secret = try TokenStore.Secret("s3cr3t")
        #expect("\(secret) \(String(reflecting: secret))" == "<redacted> <redacted>")
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
        #expect(try secret == TokenStore.Secret(bytes: Array("s3cr3t".utf8)))
        #expect(try secret != TokenStore.Secret("s3cr3d"))
        #expect(secret.withUnsafeBytes { $0.count } == secret.count)
    }
}
