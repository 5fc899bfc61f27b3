public import Foundation
public import FoundationNetworking
import TokenKeep

/// The data of an account outside of TokenKeep, which a logout deletes.
///
/// Settings that belong to no account are kept: name only the keys and folders of the account.
public struct LogoutCleanup: Sendable {
    /// The cache of responses; nil to leave it.
    public var urlCache: URLCache?
    /// The cookies; nil to leave them. On Linux the shared storage is a plain file in the user's data directory.
    public var cookies: HTTPCookieStorage?
    /// The suite of the keys in ``userDefaultsKeys``; nil for the standard one.
    public var userDefaultsSuite: String?
    /// The keys of the account in UserDefaults.
    public var userDefaultsKeys: [String]
    /// Folders and files of the account.
    public var folders: [URL]
    /// Opens a suite of UserDefaults; nil is the standard one.
    var openDefaults: @Sendable (String?) -> UserDefaults = { suite in
        suite.flatMap(UserDefaults.init(suiteName:)) ?? .standard
    }

    /// The shared cache and the shared cookies, no keys and no folders.
    public init(
        urlCache: URLCache? = .shared, cookies: HTTPCookieStorage? = .shared, userDefaultsSuite: String? = nil,
        userDefaultsKeys: [String] = [], folders: [URL] = []
    ) {
        self.urlCache = urlCache
        self.cookies = cookies
        self.userDefaultsSuite = userDefaultsSuite
        self.userDefaultsKeys = userDefaultsKeys
        self.folders = folders
    }

    /// Deletes nothing.
    public static var nothing: LogoutCleanup { LogoutCleanup(urlCache: nil, cookies: nil) }

    /// Registers a hook for each kind of data, after the requests were cancelled.
    func register(on session: TokenSession) {
        session.onEnd("caches", order: 100) { _, _ in urlCache?.removeAllCachedResponses() }
        session.onEnd("cookies", order: 200) { _, _ in deleteCookies() }
        session.onEnd("preferences", order: 300) { _, _ in deletePreferences() }
        session.onEnd("folders", order: 400) { _, _ in try deleteFolders() }
    }

    private func deleteCookies() {
        guard let cookies else { return }
        for cookie in cookies.cookies ?? [] { cookies.deleteCookie(cookie) }
    }

    private func deletePreferences() {
        guard !userDefaultsKeys.isEmpty else { return }
        let defaults = openDefaults(userDefaultsSuite)
        for key in userDefaultsKeys { defaults.removeObject(forKey: key) }
        _ = defaults.synchronize()
    }

    /// Deletes every folder that it can, and then throws the first error.
    private func deleteFolders() throws {
        var failure: (any Error)?
        for folder in folders {
            do {
                try FileManager.default.removeItem(at: folder)
            } catch CocoaError.fileNoSuchFile {
                continue
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }
}
