import CSodium

/// Makes random bytes that need not be secret, for ids and salts.
package enum RandomBytes {
    package static func make(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    /// A random id, never 0.
    package static func id() -> UInt64 {
        max(1, make(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
