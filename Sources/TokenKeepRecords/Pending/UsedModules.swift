import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The directory `used`, with an empty file for each pair of a used module and the machine on which it was used.
///
/// A module counts as used after TokenKeep has begun to write an item to the module or has loaded an item from it. A
/// used module that is absent counts as unavailable, not as empty, because it may still have items.
extension VaultJournal {
    static let usedFolder = "used"

    /// Marks a module as used on this machine, durably.
    ///
    /// Called before this process writes an item to the module, and after the module has answered a load.
    package func markUsed(_ module: String, _ call: CallContext) throws(TokenKeepError) {
        guard try !hasUsed(module) else { return }
        let vault = try records.openOrMake(call)
        let folder = try EraFolder(name: VaultJournal.usedFolder, era: vault.era).openOrMake(isDurable: true)
        do throws(Errno) {
            _ = try SystemCall.openRegular(marker(module, vault), in: folder.number, O_WRONLY | O_CREAT, mode: 0o600)
            try SystemCall.sync(folder)
        } catch {
            throw error.error("cannot note that \(module) is used")
        }
    }

    /// Whether a module is marked as used on this machine.
    package func hasUsed(_ module: String) throws(TokenKeepError) -> Bool {
        guard let vault = try records.open() else { return false }
        return try VaultFiles.exists("\(VaultJournal.usedFolder)/\(marker(module, vault))", in: vault.era.descriptor)
    }

    /// Durably removes the mark (an empty file) that says that a module is used, on this machine or on every machine.
    ///
    /// - Returns: whether the module was marked.
    package func unmarkUsed(_ module: String, onEveryMachine: Bool) throws(TokenKeepError) -> Bool {
        guard let vault = try records.open(),
            let folder = try EraFolder(name: VaultJournal.usedFolder, era: vault.era).open()
        else {
            return false
        }
        // A module's name contains no `@`, so a file with this prefix belongs to this module.
        let markers =
            onEveryMachine
            ? try VaultFiles.names(in: folder).filter { $0.hasPrefix(module + "@") } : [marker(module, vault)]
        do throws(Errno) {
            var wasThere = false
            for marker in markers where try SystemCall.remove(marker, in: folder) { wasThere = true }
            try SystemCall.sync(folder)
            return wasThere
        } catch {
            throw error.error("cannot forget that \(module) is used")
        }
    }

    private func marker(_ module: String, _ vault: OpenVault) -> String {
        module + "@" + Hexadecimal.text(vault.keys.journal.machine(records.machine.bytes))
    }
}
