import Foundation
import TokenKeep

/// Reads and writes the application's objects, which are members of a session's profile.
///
/// A change reads and writes the whole profile. Changes through this object run one after another. If two processes
/// change the profile at the same time, the later write replaces the earlier one.
final class SessionProfile: Sendable {
    private let session: TokenSession
    private let changes = SerialWork()

    init(_ session: TokenSession) { self.session = session }

    /// The object with this name; nil if the profile has no such object.
    ///
    /// - Throws: `TokenKeepError` with `corrupt` if the object is not JSON of its type; otherwise the errors of
    ///   `TokenSession.profile`.
    func object<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) async throws -> Value? {
        guard let object = try await members()[name] else { return nil }
        let item = "\(name) of the session \(session.service) (\(session.account))"
        let secret = try Self.secret(JSONSerialization.data(withJSONObject: object, options: .fragmentsAllowed))
        return try CodableSecret.decode(type, from: secret, of: item)
    }

    /// Sets objects given as JSON, and removes the objects whose JSON is nil.
    ///
    /// - Throws: `TokenKeepError` with `invalid` if all objects together exceed 64 KiB; otherwise the errors of
    ///   `TokenSession.setProfile(_:)`.
    func set(_ objects: [String: Data?]) async throws {
        try await changes.run { [self] in
            try await session.setProfile(Self.profile(objects, besides: members()))
        }
    }

    /// Replaces all objects by a profile that ``profile(_:besides:)`` made.
    func replace(_ profile: TokenStore.Secret) async throws {
        try await changes.run { [self] in try await session.setProfile(profile) }
    }

    /// Builds a profile: adds objects given as JSON to `others`, and removes the objects whose JSON is nil.
    ///
    /// - Throws: `TokenKeepError` with `invalid` if the profile exceeds 64 KiB.
    static func profile(_ objects: [String: Data?], besides others: [String: Any] = [:]) throws -> TokenStore.Secret {
        var members = others
        for (name, data) in objects {
            members[name] = try data.map { try JSONSerialization.jsonObject(with: $0, options: .fragmentsAllowed) }
        }
        let profile = try secret(JSONSerialization.data(withJSONObject: members))
        guard profile.count <= longest else {
            throw TokenKeepError(.invalid, "the objects of the session are longer than 64 KiB")
        }
        return profile
    }

    private static let longest = 65_536

    /// Copies bytes into guarded memory, and wipes the bytes.
    private static func secret(_ data: consuming Data) throws -> TokenStore.Secret {
        defer { CodableSecret.wipe(&data) }
        return try data.withUnsafeBytes { bytes throws(TokenKeepError) in try TokenStore.Secret(copying: bytes) }
    }

    private func members() async throws -> [String: Any] {
        guard let profile = try await session.profile else { return [:] }
        var data = profile.withUnsafeBytes { Data($0) }
        defer { CodableSecret.wipe(&data) }
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }
}
