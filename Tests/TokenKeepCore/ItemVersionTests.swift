import Testing
import TokenKeepCore

@Suite struct ItemVersionTests {
    private func details() throws -> ItemDetails {
        ItemDetails(
            name: try ItemName(namespace: "n", service: "s", account: "a"), label: "l",
            attributes: try ItemAttributes([("k", "v")]), createdAt: UnixTime(1), modifiedAt: UnixTime(2),
            expiresAt: UnixTime(3), module: "vault")
    }

    @Test func dependsOnSecretAndVisibleMetadataAlone() throws {
        let key = try ItemVersionKey.random()
        let secret = try SecretBytes("x")
        let version = try key.version(of: details(), secret: secret)
        #expect(version != 0)

        var moved = try details()
        moved.module = "secret-service"
        moved.createdAt = nil
        moved.modifiedAt = UnixTime(99)
        moved.version = 5
        #expect(key.version(of: moved, secret: secret) == version)

        var changed: [ItemDetails] = []
        for _ in 0..<7 { changed.append(try details()) }
        changed[0].label = "m"
        changed[1].attributes = .none
        changed[2].accessLevel = .whenUnlocked
        changed[3].flags = .synchronizable
        changed[4].expiresAt = nil
        changed[5].name = try ItemName(namespace: "n", service: "sa", account: "")
        changed[6].attributes = try ItemAttributes([("k", "w")])
        let versions = changed.map { key.version(of: $0, secret: secret) }
        #expect(Set(versions + [version]).count == 8)
        #expect(try key.version(of: details(), secret: SecretBytes("y")) != version)
        #expect(try ItemVersionKey.random().version(of: details(), secret: secret) != version)
    }
}
