/// Random damage to bytes: altered, inserted, removed, repeated or swapped pieces, and numbers at the limits.
public struct Mutation {
    private static let limits: [UInt8] = [0x00, 0x01, 0x7F, 0x80, 0xFF]
    private var numbers: SeededNumbers

    /// The changes of a seed.
    public init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    /// A random number.
    public mutating func number(_ range: Range<Int>) -> Int { numbers.number(range) }

    /// The bytes after one to four changes.
    public mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<numbers.number(1..<5) { change(&bytes) }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return bytes.append(UInt8(numbers.number(0..<256))) }
        let place = numbers.number(0..<bytes.count)
        let end = min(bytes.count, place + numbers.number(1..<9))
        switch numbers.number(0..<7) {
        case 0: bytes[place] ^= 1 << UInt8(numbers.number(0..<8))
        case 1: bytes[place] = UInt8(numbers.number(0..<256))
        case 2:
            let limit = Mutation.limits[numbers.number(0..<Mutation.limits.count)]
            for index in place..<end { bytes[index] = limit }
        case 3: bytes.removeSubrange(place..<end)
        case 4: bytes.insert(contentsOf: bytes[place..<end], at: numbers.number(0..<bytes.count))
        case 5: bytes.insert(UInt8(numbers.number(0..<256)), at: place)
        default: bytes.swapAt(place, numbers.number(0..<bytes.count))
        }
    }
}
