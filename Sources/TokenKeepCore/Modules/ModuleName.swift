/// The rule for the names of modules.
package enum ModuleName {
    /// The length of the longest name, in bytes.
    package static let maximumLength = 64

    /// Whether a module may have this name: 1 to 64 bytes of `[a-z0-9._-]`.
    package static func isValid(_ name: String) -> Bool {
        (1...maximumLength).contains(name.utf8.count) && name.utf8.allSatisfy(ItemAttributes.isNameByte)
    }

    /// Whether the name may also be a file name, of a module or a stack: it must not begin with `.`.
    package static func isValidFileName(_ name: String) -> Bool {
        isValid(name) && name.utf8.first != UInt8(ascii: ".")
    }
}
