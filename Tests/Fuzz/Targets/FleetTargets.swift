import TokenKeepCore
import TokenKeepFleet

/// The readers of a registry's answers, of its values, and of the files of a fleet.
extension FuzzTarget {
    private static let prefix = "/tokenkeep/home/1/users/"
    private static let latest: Int64 = 253_402_300_799

    static func takesPage(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let words = EtcdAnswers.message(bytes)
        try check(words.utf8.count <= 200 && words.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "words: \(words)")
        guard let page = EtcdPage(parsing: bytes, prefix: prefix, from: Array(prefix.utf8)) else { return false }
        let keys = page.entries.map(\.key)
        try check(keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }, "keys are out of order")
        try check(Set(keys).count == keys.count, "a key comes twice")
        try check(keys.allSatisfy { $0.utf8.starts(with: prefix.utf8) }, "a key of another prefix")
        try check(page.length >= page.entries.reduce(0) { $0 + $1.value.count }, "values are not counted")
        try check(page.next.map { $0.starts(with: prefix.utf8) } ?? true, "the next page is elsewhere")
        return true
    }

    static func takesEvent(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard case .ended(let reason) = EtcdWatchLine(bytes, after: 5) else { return true }
        try check(reason.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a reason that is not printable")
        return false
    }

    static func takesValue(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let takes = [
            try takes(DeviceValue.self, bytes) { [$0.joined] },
            try takes(PresentValue.self, bytes) { [$0.at] },
            try takes(SessionValue.self, bytes) { [$0.signedInAt ?? 0, $0.validatedAt ?? 0] },
            try takes(OrderValue.self, bytes) { [$0.at, $0.eventAt] },
            try takes(EverywhereValue.self, bytes) { [$0.eventAt] },
            try takes(ResultValue.self, bytes) { [$0.at] },
            try takes(NameValue.self, bytes) { _ in [] },
        ]
        return takes.contains(true)
    }

    private static func takes<Value: FleetValue>(
        _: Value.Type, _ bytes: UnsafeRawBufferPointer, _ times: (Value) -> [Int64]
    ) throws -> Bool {
        guard let value = Value(plaintext: bytes) else { return false }
        try check(times(value).allSatisfy { (0...latest).contains($0) }, "a time with which nobody can count")
        // Escapes may make it longer than a value may be.
        let written = try value.serialized()
        guard written.count <= 4096 else { return true }
        try check(written.withUnsafeBytes { Value(plaintext: $0) } == value, "a value differs after it was written")
        return true
    }

    static func takesInvitation(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let invitation = try? Invitation(copy(bytes)) else { return false }
        let again = try Invitation(invitation.serialized())
        try check(
            again.fleet == invitation.fleet && again.userKey == invitation.userKey && again.endsAt == invitation.endsAt
                && again.endpoints == invitation.endpoints && again.password == invitation.password,
            "an invitation differs after it was written")
        return true
    }

    static func takesCertificate(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let hasName = ClientCertificate.hasCommonName(bytes)
        let end = ClientCertificate.end(bytes)
        try check(hasName != nil || end == nil, "an end without a subject")
        try check(end.map { (-62_167_219_200...latest + 86_400).contains($0) } ?? true, "an end beyond the year 9999")
        return hasName != nil
    }

    static func takesFleet(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self),
            let file = try? FleetFile(name: "home", ConfigurationFile(path: "home.conf", text: text))
        else { return false }
        let again = try FleetFile(name: "home", ConfigurationFile(path: "home.conf", text: file.text))
        try check(again.text == file.text, "a fleet's file differs after it was written")
        return true
    }
}
