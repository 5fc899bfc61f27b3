import TokenKeepCore
import TokenKeepKeys

/// The file names of records: 32 lower-case hexadecimal digits.
enum RecordNames {
    /// The names of all records in a directory, unsorted, 16 bytes each.
    static func all(in records: OwnedDescriptor) throws(TokenKeepError) -> [[UInt8]] {
        try VaultFiles.names(in: records).compactMap { Hexadecimal.bytes($0, count: 16) }
    }

    /// The number of files whose names are not those of records. Counts files that were set aside, but no temporary
    /// files.
    static func countMisnamed(in records: OwnedDescriptor) throws(TokenKeepError) -> Int {
        try VaultFiles.names(in: records).count { Hexadecimal.bytes($0, count: 16) == nil && !$0.hasSuffix(".tmp") }
    }

    /// The names of at most `count` records in a directory, 16 bytes each.
    static func first(_ count: Int, in records: OwnedDescriptor) throws(TokenKeepError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        try VaultFiles.forEachName(in: records) { file in
            if let name = Hexadecimal.bytes(file, count: 16) { names.append(name) }
            return names.count < count
        }
        return names
    }

    /// Whether the directory has any record. Stops at the first record found.
    static func hasAny(in records: OwnedDescriptor) throws(TokenKeepError) -> Bool {
        var isFound = false
        try VaultFiles.forEachName(in: records) { file in
            isFound = Hexadecimal.bytes(file, count: 16) != nil
            return !isFound
        }
        return isFound
    }
}
