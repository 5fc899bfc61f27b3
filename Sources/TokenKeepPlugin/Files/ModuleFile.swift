import CSystemShims
import Glibc
package import TokenKeepCore

/// The file of a module: a shared object or a program. Checked before any of its code runs.
package struct ModuleFile: Sendable {
    /// The way in which a module runs.
    package enum Kind: String, Sendable {
        /// A file whose functions are called in this process.
        case sharedObject = "shared object"
        /// A program that runs as a separate process and exchanges lines of text with this process.
        case program = "program"
    }

    /// The file's path.
    package let path: String
    /// The kind of the file: a shared object if its name ends with `.so`, otherwise a program.
    package let kind: Kind

    /// Describes the file at an absolute path, which need not exist.
    package init(path: String) {
        self.path = path
        kind = path.hasSuffix(".so") ? .sharedObject : .program
    }

    /// Describes the file at a path that may be relative to the current directory.
    ///
    /// The path is made absolute, because a module's program is started in another directory.
    package init(relativePath: String) {
        guard relativePath.utf8.first != UInt8(ascii: "/"), let current = getcwd(nil, 0) else {
            self.init(path: relativePath)
            return
        }
        defer { free(current) }
        self.init(path: String(cString: current) + "/" + relativePath)
    }

    /// The module's name in a stack: the file's name without `.so`.
    package var moduleName: String {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return kind == .sharedObject ? String(name.dropLast(3)) : name
    }

    /// Checks that the file can be used, without running its code.
    ///
    /// - Throws: ``Status/unavailable``, as an absence, if the file must not be used or is missing.
    package func check() throws(TokenKeepError) {
        if kind == .program { _ = try program() } else { close(try open()) }
    }

    /// Opens the file for reading and checks the opened file.
    ///
    /// - Returns: a descriptor, owned by the caller.
    func open() throws(TokenKeepError) -> Int32 { try open(path) }

    private func open(_ path: String) throws(TokenKeepError) -> Int32 {
        // Without O_NONBLOCK, the open would block if the path names a pipe that nobody writes to.
        let descriptor = tokenkeep_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            throw refused(ModuleFile.words(errno), isAbsence: ModuleFile.isOfTheFile(errno))
        }
        do throws(TokenKeepError) {
            var status = stat()
            guard tokenkeep_fstat(descriptor, &status) == 0 else { throw refused(ModuleFile.words(errno)) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw refused("it is no regular file") }
            try checkOwner(status, of: path)
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Checks the program to run, and returns its path without symbolic links. No other user can replace the program.
    ///
    /// The file may change after this check, so the check is repeated at each start.
    ///
    /// - Throws: ``Status/unavailable`` if the program must not be run.
    func program() throws(TokenKeepError) -> String {
        let resolved = try resolved()
        guard faccessat(AT_FDCWD, resolved, X_OK, AT_EACCESS) == 0 else {
            throw refused("it is not executable", hint: "chmod +x \(resolved)")
        }
        return resolved
    }

    /// The path without symbolic links. No other user can replace the file at this path.
    ///
    /// - Throws: ``Status/unavailable`` if the file must not be used.
    func resolved() throws(TokenKeepError) -> String {
        guard let real = realpath(path, nil) else {
            throw refused(ModuleFile.words(errno), isAbsence: ModuleFile.isOfTheFile(errno))
        }
        defer { free(real) }
        guard let resolved = String(validatingCString: real) else { throw refused("its path is not UTF-8") }
        close(try open(resolved))
        try checkDirectories(of: resolved)
        return resolved
    }

    private func checkDirectories(of resolved: String) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try TrustedPath.check(resolved, user: Privileges.areRaised ? nil : geteuid())
        } catch {
            throw refused(error.message, hint: error.hint)
        }
    }

    private func checkOwner(_ status: stat, of path: String) throws(TokenKeepError) {
        let ownIsEnough = !Privileges.areRaised
        guard status.st_uid == 0 || ownIsEnough && status.st_uid == geteuid() else {
            let wanted = ownIsEnough ? "root or this user" : "root"
            throw refused("\(path) is owned by user \(status.st_uid), not by \(wanted)")
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw refused("others than its owner may write to \(path)", hint: "chmod go-w \(path)")
        }
    }

    /// Makes the error for an unusable module. The caller passes false as `isAbsence` if the cause may be temporary.
    func refused(_ words: String, hint: String? = nil, isAbsence: Bool = true) -> TokenKeepError {
        TokenKeepError(.unavailable, "\(path) cannot be used: \(words)", hint: hint, isAbsence: isAbsence)
    }

    /// Whether an errno value is caused by the file itself, not by a temporary shortage in the process or the machine.
    private static func isOfTheFile(_ error: Int32) -> Bool { ![EMFILE, ENFILE, ENOMEM, EINTR, EIO].contains(error) }

    static func words(_ error: Int32) -> String { strerror(error).map { String(cString: $0) } ?? "error \(error)" }
}
