import Glibc
import SystemPackage
package import TokenKeepCore

/// Removes an era that is not in force.
package enum EraRemoval {
    /// The directories in an era. Each holds only files.
    private static let folders = [EraDirectory.recordsFolder, "pending", "used", "holders", "sealed", "sessions"]

    /// Removes an era. A file with a name unknown to this version stays, and with it the directory.
    package static func remove(_ number: UInt64, of vault: VaultDirectory) throws(TokenKeepError) {
        guard let era = try EraDirectory.open(number, of: vault) else { return }
        try empty(era)
        do throws(Errno) {
            _ = try SystemCall.remove(making, in: era.descriptor)
            _ = try SystemCall.removeDirectory(EraDirectory.name(number), in: vault.descriptor)
        } catch {
            throw error.error("cannot remove \(era.path)")
        }
        try VaultFiles.sync(vault.descriptor, after: "removing an era")
    }

    /// The file that the process making an era keeps locked.
    static let making = "making"

    /// Removes the files of an era except the lock of its maker.
    static func empty(_ era: EraDirectory) throws(TokenKeepError) {
        do throws(Errno) {
            // The keys first: after a crash the remaining files open nothing.
            for name in [Keyfile.name] + HeaderFiles.names { _ = try SystemCall.remove(name, in: era.descriptor) }
            for folder in folders {
                guard let opened = try SystemCall.open(folder, in: era.descriptor.number, O_RDONLY | O_DIRECTORY)
                else { continue }
                try removeFiles(in: opened, except: nil)
                _ = try SystemCall.removeDirectory(folder, in: era.descriptor)
            }
            try removeFiles(in: era.descriptor, except: making)
        } catch {
            throw error.error("cannot empty \(era.path)")
        }
    }

    private static func removeFiles(in directory: OwnedDescriptor, except kept: String?) throws(Errno) {
        guard let names = try? VaultFiles.names(in: directory) else { return }
        for name in names where name != kept { _ = try SystemCall.remove(name, in: directory) }
    }
}
