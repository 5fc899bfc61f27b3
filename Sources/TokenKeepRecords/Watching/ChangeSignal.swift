import Glibc
import SystemPackage
import TokenKeepCore
package import TokenKeepKeys

/// The file `changed`, written after each change of an item to wake the watchers. Its content has no meaning.
///
/// A mapped counter cannot be watched; a write to a file can.
package enum ChangeSignal {
    static let file = "changed"

    /// Wakes the watchers. A failure is ignored: the change itself is already made.
    package static func send(in directory: VaultDirectory) {
        let opened = try? SystemCall.openRegular(
            file, in: directory.descriptor.number, O_WRONLY | O_CREAT, mode: 0o600)
        guard let opened = opened ?? nil else { return }
        var byte = UInt8(ascii: "\n")
        try? SystemCall.overwrite(opened, with: &byte, count: 1)
    }
}
