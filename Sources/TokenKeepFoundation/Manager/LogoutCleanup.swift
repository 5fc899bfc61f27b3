public import Foundation
public import FoundationNetworking
import TokenKeep

/// The data of an account, stored outside of TokenKeep, that a logout deletes.
///
/// List only keys and folders that belong to the account, because the application's own settings must be kept.
public struct LogoutCleanup: Sendable {
    /// The cache of responses that a logout empties; nil to empty no cache.
    public var urlCache: URLCache?
    /// The cookie storage that a logout empties; nil to empty no storage. On Linux the shared storage is a plain file
    /// in the user's data directory.
    public var cookies: HTTPCookieStorage?
    /// The UserDefaults suite of ``userDefaultsKeys``; nil for the standard suite.
    public var userDefaultsSuite: String?
    /// The account's keys in UserDefaults that a logout removes.
    public var userDefaultsKeys: [String]
    /// The account's folders and files that a logout deletes.
    public var folders: [URL]
    /// Opens a suite of UserDefaults, or the standard suite for nil. Tests replace it.
    var openDefaults: @Sendable (String?) -> UserDefaults = { suite in
        suite.flatMap(UserDefaults.init(suiteName:)) ?? .standard
    }

    /// Makes a cleanup. By default it empties the shared cache and the shared cookies, and names no keys and folders.
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

    /// A cleanup that deletes nothing.
    public static var nothing: LogoutCleanup { LogoutCleanup(urlCache: nil, cookies: nil) }

    /// Registers a logout hook for each kind of data. The hooks run after the hook that cancels the requests.
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

    /// Deletes all folders. If one deletion fails, continues with the others, and throws the first error at the end.
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
