import Glibc
import SystemPackage
import TokenKeepCore

/// Removes the files of a deleted vault. Files with other names stay.
struct VaultFileRemoval {
    let directory: VaultDirectory

    /// Removes the files, and the vault's directory if it is empty then.
    ///
    /// The link `deleted` is removed last, so that the next deletion detects an interrupted removal.
    ///
    /// - Returns: the paths of the files that are not the vault's.
    func run() throws(TokenKeepError) -> [String] {
        var left: [String] = []
        for number in try directory.eras().sorted(by: >) {
            if let era = try EraDirectory.open(number, of: directory) { left += try remove(era) }
        }
        left += try remove(
            VaultFileNames.sessions, in: directory.descriptor, shown: directory.path, VaultFileNames.isOfSessions)
        let links = [VaultDeletion.link, "lock"]
        left += try remove(
            from: directory.descriptor, shown: directory.path,
            without: { links.contains($0) || $0 == VaultFileNames.sessions || VaultFileRemoval.isSetAside($0) },
            VaultFileNames.isOfVault)
        do throws(Errno) {
            try SystemCall.sync(directory.descriptor)
            // This process still holds the lock. A process that waits for the lock detects that the lock's file was
            // removed, and opens the new file.
            for name in links { _ = try SystemCall.remove(name, in: directory.descriptor) }
            try SystemCall.sync(directory.descriptor)
        } catch {
            throw error.error("cannot remove the files of \(directory.path)")
        }
        rmdir(directory.path)
        return left.sorted()
    }

    /// Whether an entry is an era's directory that was set aside. Its files were reported when the directory was renamed.
    private static func isSetAside(_ name: String) -> Bool {
        name.hasPrefix("era-") && name.dropFirst("era-".count).drop { $0.isNumber }.hasPrefix(ending)
    }

    private static let ending = ".left-"

    /// Removes a directory `era-N`, or renames the directory if it contains files that are not the vault's.
    private func remove(_ era: EraDirectory) throws(TokenKeepError) -> [String] {
        var left: [String] = []
        do throws(Errno) {
            // Remove the keys first: if the process crashes, the files that remain cannot be decrypted.
            for name in [Keyfile.name] + HeaderFiles.names { _ = try SystemCall.remove(name, in: era.descriptor) }
            try SystemCall.sync(era.descriptor)
        } catch {
            guard error == .isDirectory || error == .notPermitted else { throw error.error("cannot empty \(era.path)") }
        }
        for folder in VaultFileNames.eraFolders {
            left += try remove(folder, in: era.descriptor, shown: era.path) {
                VaultFileNames.isOfFolder(folder, $0)
            }
        }
        left += try remove(
            from: era.descriptor, shown: era.path, without: VaultFileNames.eraFolders.contains, VaultFileNames.isOfEra)
        guard left.isEmpty else { return try setAside(era, left) }
        do throws(Errno) {
            _ = try SystemCall.removeDirectory(EraDirectory.name(era.number), in: directory.descriptor)
            return []
        } catch {
            guard error == .directoryNotEmpty else { throw error.error("cannot remove \(era.path)") }
        }
        return try setAside(era, [era.path])
    }

    /// Renames a directory `era-N`, because a new vault would empty a directory with this name.
    private func setAside(_ era: EraDirectory, _ left: [String]) throws(TokenKeepError) -> [String] {
        let name = EraDirectory.name(era.number)
        for number in 1...VaultFiles.maximumSetAside {
            let other = "\(name)\(VaultFileRemoval.ending)\(number)"
            guard try !VaultFiles.exists(other, in: directory.descriptor) else { continue }
            do throws(Errno) {
                try SystemCall.rename(name, to: other, in: directory.descriptor)
            } catch {
                throw error.error("cannot rename \(era.path)")
            }
            return left.map { "\(directory.path)/\(other)" + $0.dropFirst(era.path.count) }
        }
        return left
    }

    /// Removes the vault's files from a directory, and then the directory if it is empty. Returns the paths of other files.
    private func remove(
        _ folder: String, in parent: OwnedDescriptor, shown: String, _ isOurs: (String) -> Bool
    ) throws(TokenKeepError) -> [String] {
        let path = "\(shown)/\(folder)"
        let opened: OwnedDescriptor?
        do throws(Errno) {
            opened = try SystemCall.open(folder, in: parent.number, O_RDONLY | O_DIRECTORY)
        } catch {
            guard error == .notDirectory || error == .tooManySymbolicLinkLevels else {
                throw error.error("cannot open \(path)")
            }
            return [path]
        }
        guard let opened else { return [] }
        let left = try remove(from: opened, shown: path, without: { _ in false }, isOurs)
        if left.isEmpty { _ = try? SystemCall.removeDirectory(folder, in: parent) }
        return left
    }

    /// Removes the files of a directory that are the vault's.
    ///
    /// - Parameter isLeftOut: whether an entry is neither removed nor reported.
    /// - Returns: the paths of the other entries.
    private func remove(
        from folder: OwnedDescriptor, shown: String, without isLeftOut: (String) -> Bool, _ isOurs: (String) -> Bool
    ) throws(TokenKeepError) -> [String] {
        var left: [String] = []
        for name in try VaultFiles.names(in: folder) where !isLeftOut(name) {
            do throws(Errno) {
                if isOurs(name) {
                    _ = try SystemCall.remove(name, in: folder)
                } else {
                    left.append("\(shown)/\(name)")
                }
            } catch {
                guard error == .isDirectory || error == .notPermitted else {
                    throw error.error("cannot remove \(shown)/\(name)")
                }
                left.append("\(shown)/\(name)")
            }
        }
        return left
    }
}
