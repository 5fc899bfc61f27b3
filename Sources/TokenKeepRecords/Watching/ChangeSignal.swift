import Glibc
import SystemPackage
import TokenKeepCore
package import TokenKeepKeys

/// The file `changed`: written to after each change of an item, so that those who watch it look again.
///
/// A mapped counter cannot be watched; a write to a file can. What is written means nothing.
package enum ChangeSignal {
    static let file = "changed"

    /// Wakes those who watch. A change is no less made where they cannot be woken.
    package static func send(in directory: VaultDirectory) {
        let opened = try? SystemCall.openRegular(
            file, in: directory.descriptor.number, O_WRONLY | O_CREAT, mode: 0o600)
        guard let opened = opened ?? nil else { return }
        var byte = UInt8(ascii: "\n")
        pwrite(opened.number, &byte, 1, 0)
    }
}
