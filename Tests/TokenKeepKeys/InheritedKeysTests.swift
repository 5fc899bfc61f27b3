import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

/// Keys that `tokenkeep run` gives to a process tree.
struct InheritedKeysTests {
    private static func payload() throws -> [UInt8] {
        let keys = InheritedKeys([
            InheritedKeys.Entry(place: "tokenkeep:aa:2:01", key: try SecretBytes("first"), deadline: nil),
            InheritedKeys.Entry(place: "tokenkeep:aa:1:02", key: try SecretBytes("second"), deadline: 5),
        ])
        let descriptor = try keys.makeDescriptor()
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    private static func parse(_ bytes: [UInt8]) throws -> InheritedKeys {
        try bytes.withUnsafeBytes { try InheritedKeys.parse($0) }
    }

    @Test func whatWasHandedOverIsRead() throws {
        let keys = try InheritedKeysTests.parse(InheritedKeysTests.payload())
        #expect(keys.entries.map(\.place) == ["tokenkeep:aa:2:01", "tokenkeep:aa:1:02"])
        #expect(keys.entries.map(\.deadline) == [nil, 5])
        #expect(try keys.entries.map(\.key) == [SecretBytes("first"), SecretBytes("second")])
    }

    @Test func nobodyChangesTheFile() throws {
        let descriptor = try InheritedKeys([]).makeDescriptor()
        defer { close(descriptor) }
        #expect(pwrite(descriptor, "x", 1, 0) == -1 && errno == EPERM)
        #expect(ftruncate(descriptor, 0) == -1 && errno == EPERM)
        #expect(fcntl(descriptor, F_GETFD) == 0)
    }

    @Test func aCutFileIsRefusedWhereverItIsCut() throws {
        let whole = try InheritedKeysTests.payload()
        for count in 0..<whole.count {
            #expect(throws: FormatFault.self) { try InheritedKeysTests.parse(Array(whole.prefix(count))) }
        }
        #expect(throws: FormatFault.self) { try InheritedKeysTests.parse(whole + [0]) }
    }

    @Test func noChangedBitTraps() throws {
        let whole = try InheritedKeysTests.payload()
        var parsed = 0
        for bit in 0..<whole.count * 8 {
            var changed = whole
            changed[bit / 8] ^= 1 << (bit % 8)
            if (try? InheritedKeysTests.parse(changed)) != nil { parsed += 1 }
        }
        // Changed keys and places are keys and places still; the signature, the version and the lengths are not.
        #expect(parsed > 0)
        #expect(parsed < (whole.count - 12) * 8)
    }

    @Test func keysWithADeadlineEnd() throws {
        let now = MutexGuarded<Int64>(0)
        let store = ClassKeyStore(simulatingKernelAt: { now.withLock { $0 } })
        let vault = [UInt8](repeating: 7, count: 16)
        let key = OpenKey(
            purpose: .level(.whenUnlocked), isRetiring: false, id: 1, bytes: try SecretBytes(count: 32) { _ in })
        try store.keep([key], nil, of: vault)
        let descriptor = try store.handOver(vault)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let entry = try #require(InheritedKeysTests.parse(Array(bytes.prefix(count))).entries.first)
        #expect(entry.place == ClassKeyPlace.of(1, for: .level(.whenUnlocked), vault))
        #expect(entry.deadline == Int64(ClassKeyStore.whenUnlockedSeconds))
    }
}
