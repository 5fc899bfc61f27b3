/// The rules that the names of modules must obey.
package enum ModuleName {
    /// The maximum length of a name, in bytes.
    package static let maximumLength = 64

    /// Whether a module may have this name: 1 to 64 bytes of `[a-z0-9._-]`.
    package static func isValid(_ name: String) -> Bool {
        (1...maximumLength).contains(name.utf8.count) && name.utf8.allSatisfy(ItemAttributes.isNameByte)
    }

    /// Whether the name can also name a file of a module or a stack, because it does not begin with `.`.
    package static func isValidFileName(_ name: String) -> Bool {
        isValid(name) && name.utf8.first != UInt8(ascii: ".")
    }
}
