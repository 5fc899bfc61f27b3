import Glibc

/// Copies of texts as C strings. All are in one allocation, which lives as long as this object.
///
/// The texts never change, so any thread may read them.
final class CStrings: @unchecked Sendable {
    private let base: UnsafeMutablePointer<CChar>
    private let offsets: [Int]

    /// Copies texts, which must not contain a NUL.
    init(_ texts: [String]) {
        let size = texts.reduce(1) { $0 + $1.utf8.count + 1 }
        let base = UnsafeMutablePointer<CChar>.allocate(capacity: size)
        base.initialize(repeating: 0, count: size)
        var offsets: [Int] = []
        offsets.reserveCapacity(texts.count)
        var offset = 0
        for text in texts {
            offsets.append(offset)
            text.withCString { _ = strcpy(base + offset, $0) }
            offset += text.utf8.count + 1
        }
        self.base = base
        self.offsets = offsets
    }

    deinit { base.deallocate() }

    /// The text at `index`.
    subscript(index: Int) -> UnsafePointer<CChar> { UnsafePointer(base + offsets[index]) }
}
