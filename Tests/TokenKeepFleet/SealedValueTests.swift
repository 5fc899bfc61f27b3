import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys

@testable import TokenKeepFleet

@Suite("Sealed values")
struct SealedValueTests {
    private let key: FleetKey
    private let value = OrderValue(
        session: String(repeating: "a", count: 32), service: "api", account: "ann", from: "d", reason: "lost", at: 1,
        eventAt: 2)

    init() throws { key = try FleetKey() }

    private func entry(_ key: String, _ value: [UInt8]) -> RegistryEntry {
        RegistryEntry(key: key, value: value, changedAt: 1)
    }

    @Test("a value opens at its path under its key, and nowhere else")
    func opensAtItsPath() throws {
        let sealed = try value.sealed(key, for: "/a")
        #expect(OrderValue.open(entry("/a", sealed), key) == value)
        #expect(OrderValue.open(entry("/b", sealed), key) == nil)
        #expect(OrderValue.open(entry("/a", sealed), try FleetKey()) == nil)
        #expect(try key.user("ann").open(sealed, path: "/a") == nil)
    }

    @Test("a value with any changed byte, and one cut anywhere, does not open")
    func changedBytes() throws {
        let sealed = try value.sealed(key, for: "/a")
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(OrderValue.open(entry("/a", changed), key) == nil)
            #expect(OrderValue.open(entry("/a", Array(sealed[..<index])), key) == nil)
        }
    }

    @Test("a sealed value of another kind is no order")
    func otherKind() throws {
        let sealed = try PresentValue(at: 1).sealed(key, for: "/a")
        #expect(OrderValue.open(entry("/a", sealed), key) == nil)
        let text = try key.seal(SecretBytes("[1]"), path: "/a")
        #expect(PresentValue.open(entry("/a", text), key) == nil)
    }

    @Test("a time with which nobody could count makes no value", arguments: [Int64.min, -1, 253_402_300_800, .max])
    func foreignTimes(at: Int64) throws {
        let paths = FleetPaths(fleet: "home", userID: String(repeating: "a", count: 32))
        let device = String(repeating: "b", count: 16)
        func sealed(_ path: String, _ text: String) throws -> RegistryEntry {
            entry(path, key.seal(try SecretBytes(text), path: path))
        }
        let entries = try [
            sealed(paths.present(device), #"{"at":\#(at)}"#),
            sealed(paths.device(device), #"{"name":"d","joined":1}"#),
            sealed(
                paths.order(device, String(repeating: "c", count: 32)),
                #"{"what":"sign-out","session":"\#(value.session)","service":"a","account":"b","at":\#(at),"event_at":1}"#
            ),
        ]
        let listing = FleetListing(entries, paths, key, presence: 900, now: 1_764_201_600)
        #expect(listing.foreign == 2 && listing.devices.first?.seenAt == nil)
        #expect(PresentValue.open(try sealed("/a", #"{"at":253402300799}"#), key) != nil)
    }

    @Test("random bytes are no value, and no answer of a registry", arguments: 0..<64)
    func randomBytes(seed: Int) throws {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<Int.random(in: 0..<400, using: &generator)).map { _ in
            UInt8.random(in: 0...255, using: &generator)
        }
        #expect(SessionValue.open(entry("/a", bytes), key) == nil)
        // What follows an object is not looked at.
        #expect(bytes.first == UInt8(ascii: "{") || bytes.withUnsafeBytes { WireValue(parsing: $0) } == nil)
        _ = bytes.withUnsafeBytes { EtcdAnswers.message($0) }
        _ = bytes.withUnsafeBytes { Base64.bytes($0) }
    }

    @Test("keys and names of users differ, and are the same each time")
    func derivations() throws {
        #expect(try key.user("ann").bytes == key.user("ann").bytes)
        #expect(try key.user("ann").bytes != key.user("bob").bytes)
        #expect(key.userID("ann") != key.userID("bob") && key.userID("ann").utf8.count == 32)
        #expect(key.accountID(service: "a", account: "bc") != key.accountID(service: "ab", account: "c"))
    }

    @Test("base64 reads what it writes, and nothing else")
    func base64() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8($0 * 7 & 255) }
            for alphabet in [Base64.Alphabet.standard, .url] {
                let text = Array(Base64.text(bytes, alphabet).utf8)
                #expect(text.withUnsafeBytes { Base64.bytes($0, alphabet) } == bytes)
            }
        }
        for text in ["AAA", "A===", "AA==A", "A A=", "AA=", "!AAA"] {
            #expect(Array(text.utf8).withUnsafeBytes { Base64.bytes($0) } == nil, "\(text)")
        }
    }
}
