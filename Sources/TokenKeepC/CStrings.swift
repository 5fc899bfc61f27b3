import Glibc

/// Texts as C strings, in one allocation that lives as long as this object.
///
/// The texts never change, so any thread may read them.
final class CStrings: @unchecked Sendable {
    private let base: UnsafeMutablePointer<CChar>
    private let offsets: [Int]

    /// Copies texts, which must not contain a NUL.
    init(_ texts: [String]) {
        var offsets: [Int] = []
        var size = 0
        for text in texts {
            offsets.append(size)
            size += text.utf8.count + 1
        }
        let base = UnsafeMutablePointer<CChar>.allocate(capacity: max(1, size))
        base.initialize(repeating: 0, count: max(1, size))
        let bytes = UnsafeMutableRawBufferPointer(start: base, count: size)
        for (text, offset) in zip(texts, offsets) {
            UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyBytes(from: text.utf8)
        }
        self.base = base
        self.offsets = offsets
    }

    deinit { base.deallocate() }

    /// The text at `index`.
    subscript(index: Int) -> UnsafePointer<CChar> { UnsafePointer(base + offsets[index]) }
}
