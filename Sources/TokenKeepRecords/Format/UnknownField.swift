package import TokenKeepCore
package import TokenKeepKeys

/// A field of unknown meaning, preserved when its record is written again. The value may contain a token.
package struct UnknownField: Equatable {
    package let tag: UInt16
    package let value: SecretBytes

    package init(tag: UInt16, copying value: UnsafeRawBufferPointer) throws(FormatFault) {
        self.tag = tag
        self.value = try FormatFault.needing { () throws(TokenKeepError) in
            try SecretBytes(copying: value)
        }
    }

    package func write(to writer: inout ByteWriter) {
        value.withUnsafeBytes { writer.append(field: tag, $0) }
    }
}
