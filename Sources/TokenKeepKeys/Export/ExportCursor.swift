import SystemPackage
import TokenKeepCore

/// Reads the bytes of an open file in order, through a buffer.
struct ExportCursor {
    /// The minimum number of bytes that one system call reads, so that one call reads several items.
    private static let chunk = 1 << 16

    private let file: OwnedDescriptor
    /// The file offset from which the buffer is filled next.
    private var offset: Int64
    private var bytes: [UInt8] = []
    private var used = 0

    init(_ file: OwnedDescriptor, at offset: Int = 0) {
        self.file = file
        self.offset = Int64(offset)
    }

    /// Calls `body` with the next `count` bytes.
    ///
    /// - Parameter mayBeShort: whether `body` gets fewer bytes if the file ends early. If false, an early end of the
    ///   file is an error.
    mutating func lend<Result>(
        _ count: Int, _ path: String, mayBeShort: Bool = false,
        _ body: (UnsafeRawBufferPointer) throws(FormatFault) -> Result
    ) throws(FormatFault) -> Result {
        try fill(count, path)
        let present = min(count, bytes.count - used)
        guard mayBeShort || present == count else { throw .malformed("it ends within a frame") }
        let start = used
        used += present
        return try bytes.lent { bytes throws(FormatFault) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + present]))
        }
    }

    /// Whether the file has no more bytes.
    mutating func isAtEnd(_ path: String) throws(FormatFault) -> Bool {
        try fill(1, path)
        return bytes.count == used
    }

    /// Fills the buffer until it has `count` unread bytes, or the file ends.
    private mutating func fill(_ count: Int, _ path: String) throws(FormatFault) {
        guard bytes.count - used < count else { return }
        bytes.removeFirst(used)
        used = 0
        do throws(Errno) {
            let more = try SystemCall.bytes(
                of: file, from: offset, atMost: max(count - bytes.count, ExportCursor.chunk))
            offset += Int64(more.count)
            bytes += more
        } catch {
            throw .resources(TokenKeepError(.io, "cannot read \(path): \(error)"))
        }
    }
}
