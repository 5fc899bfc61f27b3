import Foundation
import TokenKeep

/// The application's objects in the profile of a session, by name.
///
/// A change reads the profile and writes it whole. Changes through this object wait for each other; of two changes by two
/// processes at once, the later one counts.
actor SessionProfile {
    private let session: TokenSession
    private var last: Task<Void, any Error>?

    init(_ session: TokenSession) { self.session = session }

    /// An object; nil if there is none.
    ///
    /// - Throws: `TokenKeepError`, `corrupt` if the object is no JSON of its type.
    func object<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) async throws -> Value? {
        guard let object = try await members()[name] else { return nil }
        let item = "\(name) of the session \(session.service) (\(session.account))"
        var data = try JSONSerialization.data(withJSONObject: object, options: .fragmentsAllowed)
        defer { CodableSecret.wipe(&data) }
        let secret = try data.withUnsafeBytes { bytes throws(TokenKeepError) in
            try TokenStore.Secret(copying: bytes)
        }
        return try CodableSecret.decode(type, from: secret, of: item)
    }

    /// Sets objects given as JSON, and removes those that are nil.
    ///
    /// - Throws: `TokenKeepError`, `invalid` for more than 64 KiB in all.
    func set(_ objects: [String: Data?], removingOthers: Bool = false) async throws {
        let previous = last
        let task = Task {
            _ = await previous?.result
            var members = removingOthers ? [:] : try await self.members()
            for (name, data) in objects {
                members[name] = try data.map { try JSONSerialization.jsonObject(with: $0, options: .fragmentsAllowed) }
            }
            var data = try JSONSerialization.data(withJSONObject: members)
            defer { CodableSecret.wipe(&data) }
            let secret = try data.withUnsafeBytes { bytes throws(TokenKeepError) in
                try TokenStore.Secret(copying: bytes)
            }
            try await session.setProfile(secret)
        }
        last = task
        try await task.value
    }

    private func members() async throws -> [String: Any] {
        guard let profile = try await session.profile else { return [:] }
        var data = profile.withUnsafeBytes { Data($0) }
        defer { CodableSecret.wipe(&data) }
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }
}
