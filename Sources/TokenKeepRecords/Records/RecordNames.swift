import TokenKeepCore

/// The file names of records: 32 lower-case hexadecimal digits.
enum RecordNames {
    static func fileName(_ name: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: name.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The binary name behind a file name; nil where it is none.
    static func name(ofFile file: String) -> [UInt8]? {
        let utf8 = Array(file.utf8)
        guard utf8.count == 32 else { return nil }
        var name: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let high = digit(utf8[index]), let low = digit(utf8[index + 1]) else { return nil }
            name.append(high << 4 | low)
        }
        return name
    }

    /// The names of all records of a directory, in the order of the directory.
    static func all(in records: OwnedDescriptor) throws(TokenKeepError) -> [[UInt8]] {
        try VaultFiles.names(in: records).compactMap { name(ofFile: $0) }
    }

    /// Whether the directory has a record. Looks no further than the first.
    static func hasAny(in records: OwnedDescriptor) throws(TokenKeepError) -> Bool {
        var isFound = false
        try VaultFiles.forEachName(in: records) { file in
            isFound = name(ofFile: file) != nil
            return !isFound
        }
        return isFound
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
