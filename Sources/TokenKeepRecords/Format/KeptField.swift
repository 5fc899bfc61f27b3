import TokenKeepCore
import TokenKeepKeys

/// A field that this version keeps without knowing what it means: it may hold a token.
struct KeptField: Equatable {
    let tag: UInt16
    let value: SecretBytes

    init(tag: UInt16, copying value: UnsafeRawBufferPointer) throws(FormatFault) {
        self.tag = tag
        self.value = try FormatFault.needing { () throws(TokenKeepError) in
            try SecretBytes(copying: value)
        }
    }

    func write(to writer: inout ByteWriter) {
        value.withUnsafeBytes { writer.append(field: tag, $0) }
    }
}
