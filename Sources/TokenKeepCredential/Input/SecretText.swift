import TokenKeepCore
import TokenKeepTerminal

/// Text for standard output that contains secrets. Its parts are joined in guarded memory before they are written.
struct SecretText {
    private enum Part {
        case text(String)
        case secret(SecretBytes)
    }

    private var parts: [Part] = []

    mutating func append(_ text: String) { parts.append(.text(text)) }

    mutating func append(_ secret: SecretBytes) { parts.append(.secret(secret)) }

    /// Joins the parts in guarded memory.
    func joined() throws(TokenKeepError) -> SecretBytes {
        let count = parts.reduce(0) { count, part in
            switch part {
            case .text(let text): count + text.utf8.count
            case .secret(let secret): count + secret.count
            }
        }
        return try SecretBytes(count: count) { bytes in
            var rest = bytes[...]
            for part in parts {
                let place = UnsafeMutableRawBufferPointer(rebasing: rest)
                switch part {
                case .text(let text):
                    place.copyBytes(from: text.utf8)
                    rest = rest.dropFirst(text.utf8.count)
                case .secret(let secret):
                    secret.withUnsafeBytes { place.copyMemory(from: $0) }
                    rest = rest.dropFirst(secret.count)
                }
            }
        }
    }

    /// Writes the text to standard output.
    func write() throws { try joined().withUnsafeBytes { try Terminal.write($0) } }
}
