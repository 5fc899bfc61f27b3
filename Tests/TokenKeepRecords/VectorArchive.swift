import Foundation

@testable import TokenKeepKeys

/// Reads an archive of vectors. `Tests/Vectors/vector_archive.py` describes its lines.
struct VectorArchive {
    struct BadLine: Error { let line: String }

    /// The bytes of the files so far, by the names of vector and file.
    private var contents: [String: [UInt8]] = [:]

    /// The vectors of the archive `Tests/Vectors/NAME`.
    static func read(_ name: String) throws -> [Vector] {
        let text = try String(contentsOf: Vector.folder.appending(path: name), encoding: .utf8)
        var archive = VectorArchive()
        // The first block is a comment.
        return try text.components(separatedBy: "\n\n").dropFirst().map { try archive.vector($0) }
    }

    private mutating func vector(_ block: String) throws -> Vector {
        let lines = block.replacingOccurrences(of: "\n    ", with: " ").split(separator: "\n")
        guard let name = lines.first, name.hasPrefix("vector ") else { throw BadLine(line: "\(lines.first ?? "")") }
        var vector = Vector(testDescription: String(name.dropFirst("vector ".count)))
        for line in lines.dropFirst() {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            if parts[0].hasSuffix(":") {
                vector.fields[String(parts[0].dropLast())] = parts.count > 1 ? parts[1] : ""
            } else {
                try vector.files.append(file(of: vector.testDescription, String(line)))
            }
        }
        return vector
    }

    private mutating func file(of vector: String, _ line: String) throws -> (path: String, bytes: [UInt8], isLink: Bool)
    {
        let words = line.split(separator: " ").map { String($0) }
        guard words.count >= 3 else { throw BadLine(line: line) }
        var bytes: [UInt8]?
        switch words[0] {
        case "link": bytes = words[2].removingPercentEncoding.map { Array($0.utf8) }
        case "same": bytes = contents[words[2...].joined(separator: " ")]
        case "file": bytes = Int(words[2]).flatMap { Hexadecimal.bytes(words[3...].joined(), count: $0) }
        default: break
        }
        guard let bytes else { throw BadLine(line: line) }
        contents["\(vector) \(words[1])"] = bytes
        return (words[1], bytes, words[0] == "link")
    }
}
