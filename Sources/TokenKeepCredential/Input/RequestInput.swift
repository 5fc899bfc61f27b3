import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// Reads requests from standard input into guarded memory. No request may be longer than ``longest`` bytes.
struct RequestInput {
    /// The maximum length of a request, in bytes. A secret of 1 MiB and the escapes in it fit.
    static let longest = 2 << 20

    /// The bytes that were read but not returned yet; nil before the first line.
    private var rest: SecretBytes?

    /// Reads standard input to its end.
    ///
    /// - Throws: ``Status/invalid`` if the input is longer than `longest` bytes, ``Status/io`` if it cannot be read.
    static func all(atMost longest: Int = RequestInput.longest) throws(TokenKeepError) -> SecretBytes {
        var input = try SecretBytes(count: 0) { _ in }
        while true {
            let (longer, isEnd) = try more(after: input, atMost: longest) { _ in false }
            input = longer
            if isEnd { return input }
        }
    }

    /// Reads the next line of standard input, without its line feed. Returns nil at the end of the input.
    ///
    /// - Throws: the errors of ``all(atMost:)``, and ``Status/invalid`` if the input ends within a line.
    mutating func line() throws(TokenKeepError) -> SecretBytes? {
        var input = if let rest { rest } else { try SecretBytes(count: 0) { _ in } }
        rest = nil
        let newline = UInt8(ascii: "\n")
        while true {
            if let end = input.withUnsafeBytes({ $0.firstIndex(of: newline) }) {
                rest = try input.suffix(from: end + 1)
                return try input.prefix(end)
            }
            let (longer, isEnd) = try RequestInput.more(after: input, atMost: RequestInput.longest) {
                $0.contains(newline)
            }
            input = longer
            guard isEnd else { continue }
            guard input.count == 0 else { throw RequestInput.cut }
            return nil
        }
    }

    static let cut = TokenKeepError(.invalid, "the request ends within a line")

    /// Returns a copy of `input` followed by the next bytes of standard input, and whether the input has ended.
    ///
    /// Reads until the buffer is full, the input ends, or `isEnough` returns true for the bytes that one read returned.
    private static func more(
        after input: SecretBytes, atMost longest: Int, until isEnough: (UnsafeRawBufferPointer) -> Bool
    ) throws(TokenKeepError) -> (SecretBytes, isEnd: Bool) {
        guard input.count <= longest else {
            throw TokenKeepError(.invalid, "the request is longer than \(longest) bytes")
        }
        var isEnd = false
        // The buffer has one byte more than the longest request, so that a longer request is detected.
        let capacity = min(max(8192, input.count * 2), longest + 1)
        let longer = try SecretBytes(capacity: capacity) { bytes throws(TokenKeepError) in
            input.withUnsafeBytes { bytes.copyMemory(from: $0) }
            var count = input.count
            while count < capacity {
                let part = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
                let received = try read(into: part)
                isEnd = received == 0
                count += received
                if isEnd || isEnough(UnsafeRawBufferPointer(rebasing: part[..<received])) { break }
            }
            return count
        }
        return (longer, isEnd)
    }

    private static func read(into bytes: UnsafeMutableRawBufferPointer) throws(TokenKeepError) -> Int {
        while true {
            let received = Glibc.read(STDIN_FILENO, bytes.baseAddress, bytes.count)
            if received >= 0 { return received }
            if errno == EAGAIN {
                var poller = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                poll(&poller, 1, -1)
            } else if errno != EINTR {
                throw TokenKeepError(.io, "standard input cannot be read: \(Terminal.describe(errno: errno))")
            }
        }
    }
}

extension SecretBytes {
    /// Copies the bytes from the offset `start` to the end into new guarded memory.
    func suffix(from start: Int) throws(TokenKeepError) -> SecretBytes {
        try withUnsafeBytes { bytes throws(TokenKeepError) in
            try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[start...]))
        }
    }

    /// Whether the bytes equal `text`.
    func hasBytes(of text: String) -> Bool { withUnsafeBytes { $0.elementsEqual(text.utf8) } }

    /// Whether the bytes include a control character of ASCII, which lines and headers cannot contain.
    var hasControlByte: Bool { withUnsafeBytes { $0.contains { $0 < 0x20 || $0 == 0x7F } } }
}
