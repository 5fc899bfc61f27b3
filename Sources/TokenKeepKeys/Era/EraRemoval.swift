import Glibc
import SystemPackage
package import TokenKeepCore

/// Removes a directory `era-N` (keys and records of the vault) whose keys are not in force.
package enum EraRemoval {
    /// The names of the directories inside `era-N`. Each directory contains only files.
    private static let folders = [EraDirectory.recordsFolder, "pending", "used", "holders", "sessions"]

    /// Removes the directory `era-N` and the files in it.
    ///
    /// - Throws: ``Status/io`` if `era-N` contains a directory whose name this version does not know.
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

    /// The name of a lock file in `era-N`. The process that makes the directory keeps the file locked.
    static let making = "making"

    /// Removes the files in a directory `era-N`, except the lock file of the process that makes the directory.
    static func empty(_ era: EraDirectory) throws(TokenKeepError) {
        do throws(Errno) {
            // Remove the keys first: if the process crashes, the files that remain cannot be decrypted.
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
