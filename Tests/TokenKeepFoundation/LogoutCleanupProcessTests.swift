import Foundation
import FoundationNetworking
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// The data of an account outside of TokenKeep, in a process of its own: Foundation keeps it below the home directory.
@Suite struct LogoutCleanupProcessTests {
    @Test("API cache, Cookies: usually; User preferences, Downloaded files: maybe; App settings: usually keep")
    func aLogoutDeletesTheAccountsDataAndKeepsTheSettings() async {
        await #expect(processExitsWith: .success) {
            let world = FoundationWorld()
            let home = world.directory.path + "/home"
            for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] { setenv(name, home, 1) }
            let url = try #require(URL(string: "https://api.example.com/me"))

            let cookie = try #require(
                HTTPCookie(properties: [
                    .name: "planted", .value: "cookie", .domain: "api.example.com", .path: "/",
                    .expires: Date.distantFuture,
                ]))
            HTTPCookieStorage.shared.setCookie(cookie)
            let response = try #require(
                HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=60"]))
            let cached = CachedURLResponse(response: response, data: Data("planted".utf8))
            URLCache.shared.storeCachedResponse(cached, for: URLRequest(url: url))
            UserDefaults.standard.set("ann@example.com", forKey: "userEmail")
            UserDefaults.standard.set("dark", forKey: "theme")
            world.directory.write([1], to: "downloads/ann/file")

            let gone = URL(filePath: world.directory.path + "/missing")
            let session = try await world.signedIn()
            LogoutCleanup(
                userDefaultsKeys: ["userEmail"],
                folders: [gone, URL(filePath: world.directory.path + "/downloads/ann")]
            ).register(on: session)
            let report = try await session.end()

            #expect(report.failedHooks.isEmpty)
            #expect(HTTPCookieStorage.shared.cookies?.isEmpty != false)
            #expect(URLCache.shared.cachedResponse(for: URLRequest(url: url)) == nil)
            #expect(UserDefaults.standard.string(forKey: "userEmail") == nil)
            #expect(UserDefaults.standard.string(forKey: "theme") == "dark")
            #expect(world.directory.names(in: "downloads").isEmpty)
            // The shared cookies are a plain file.
            var plain = 0
            let names = FileManager.default.enumerator(atPath: home)
            while let name = names?.nextObject() as? String {
                guard let bytes = world.directory.read("home/" + name) else { continue }
                plain += 1
                #expect(!String(decoding: bytes, as: UTF8.self).contains("planted"), "\(name)")
            }
            #expect(plain > 0)
        }
    }
}
