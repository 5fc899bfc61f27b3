import CSodium
import TokenKeepCore

/// A buffer for data to or from a program. Lies in guarded memory, because the data may contain a secret.
final class WipingBuffer {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    /// Makes an empty buffer.
    ///
    /// - Throws: ``Status/io`` if guarded memory is exhausted.
    init(capacity: Int) throws(TokenKeepError) {
        base = try WipingBuffer.allocate(capacity)
        self.capacity = capacity
    }

    deinit { sodium_free(base) }  // wipes

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Returns unused space for at least `more` bytes after the content. A caller that writes to the space then calls
    /// ``grow(by:)`` with the number of bytes written.
    func room(for more: Int) throws(TokenKeepError) -> UnsafeMutableRawBufferPointer {
        if count + more > capacity {
            let larger = max(capacity * 2, count + more)
            let other = try WipingBuffer.allocate(larger)
            other.copyMemory(from: base, byteCount: count)
            sodium_free(base)
            base = other
            capacity = larger
        }
        return UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
    }

    func grow(by written: Int) { count += written }

    func append(_ text: String) throws(TokenKeepError) {
        let utf8 = text.utf8
        try room(for: utf8.count).copyBytes(from: utf8)
        count += utf8.count
    }

    func removeFirst(_ number: Int) {
        base.copyMemory(from: base + number, byteCount: count - number)
        count -= number
    }

    private static func allocate(_ size: Int) throws(TokenKeepError) -> UnsafeMutableRawPointer {
        try Sodium.start()
        guard let memory = sodium_malloc(max(size, 1)) else {
            throw TokenKeepError.shortage("no guarded memory for \(size) bytes")
        }
        return memory
    }
}
