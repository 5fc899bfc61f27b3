import Foundation
import FoundationNetworking
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// UserDefaults without a file: Foundation's lie below the user's home, whatever the environment says later.
private final class MemoryDefaults: UserDefaults {
    private let values: Guarded<[String: String]>

    init?(_ values: Guarded<[String: String]>) {
        self.values = values
        super.init(suiteName: nil)
    }

    override func removeObject(forKey defaultName: String) { values.withLock { $0[defaultName] = nil } }
    override func synchronize() -> Bool { true }
}

/// The data of an account outside of TokenKeep.
@Suite struct LogoutCleanupProcessTests {
    private let world = FoundationWorld()

    @Test("API cache: usually; User preferences, Downloaded files: maybe; App settings: usually keep")
    func aLogoutDeletesTheAccountsDataAndKeepsTheSettings() async throws {
        let url = try #require(URL(string: "https://api.example.com/me"))
        let request = URLRequest(url: url)
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil,
                headerFields: ["Cache-Control": "max-age=60"]))
        cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("planted".utf8)), for: request)
        #expect(cache.cachedResponse(for: request) != nil)
        let preferences = Guarded(["userEmail": "ann@example.com", "theme": "dark"])
        world.directory.write([1], to: "downloads/ann/file")

        let downloads = URL(filePath: world.directory.path + "/downloads")
        var cleanup = LogoutCleanup(
            urlCache: cache, cookies: nil, userDefaultsKeys: ["userEmail"],
            folders: [downloads.appending(path: "missing"), downloads.appending(path: "ann")])
        cleanup.openDefaults = { _ in MemoryDefaults(preferences) ?? .standard }
        let session = try await world.signedIn()
        cleanup.register(on: session)
        #expect(try await session.end().failedHooks.isEmpty)

        #expect(cache.cachedResponse(for: request) == nil)
        #expect(preferences.withLock { $0 } == ["theme": "dark"])
        #expect(world.directory.names(in: "downloads").isEmpty)
    }

    /// The shared cookies are a plain file below XDG_DATA_HOME: a process of its own has its own.
    @Test("Cookies: usually") func aLogoutDeletesTheSharedCookiesFromTheirFile() async {
        await #expect(processExitsWith: .success) {
            let world = FoundationWorld()
            let home = world.directory.path + "/home"
            setenv("XDG_DATA_HOME", home, 1)
            let cookie = try #require(
                HTTPCookie(properties: [
                    .name: "planted", .value: "cookie", .domain: "api.example.com", .path: "/",
                    .expires: Date.distantFuture,
                ]))
            HTTPCookieStorage.shared.setCookie(cookie)
            let planted = { (paths: [String]) in
                paths.filter { path in
                    let bytes = world.directory.read("home/" + path) ?? []
                    return String(decoding: bytes, as: UTF8.self).contains("planted")
                }
            }
            let files = try FileManager.default.subpathsOfDirectory(atPath: home)
            #expect(!planted(files).isEmpty)
            let session = try await world.signedIn()
            LogoutCleanup(urlCache: nil).register(on: session)
            #expect(try await session.end().failedHooks.isEmpty)
            #expect(HTTPCookieStorage.shared.cookies?.isEmpty != false)
            #expect(planted(try FileManager.default.subpathsOfDirectory(atPath: home)).isEmpty)
        }
    }
}
