import CSystemShims
import Glibc
package import TokenKeepCore

/// The file of a module: a shared object, or a program. Nothing of it is run before it was checked.
package struct ModuleFile: Sendable {
    /// How a module is run.
    package enum Kind: String, Sendable {
        /// In the process, by its functions.
        case sharedObject = "shared object"
        /// As a process of its own, by lines.
        case program = "program"
    }

    /// Where it lies.
    package let path: String
    /// How it is run: a shared object where its name ends with `.so`, else a program.
    package let kind: Kind

    /// The file at a path, which need not be there.
    package init(path: String) {
        self.path = path
        kind = path.hasSuffix(".so") ? .sharedObject : .program
    }

    /// The file at a path that may be relative: a program is started elsewhere.
    package init(relativePath: String) {
        guard relativePath.utf8.first != UInt8(ascii: "/"), let current = getcwd(nil, 0) else {
            self.init(path: relativePath)
            return
        }
        defer { free(current) }
        self.init(path: String(cString: current) + "/" + relativePath)
    }

    /// What a stack calls the module: the file's name, without `.so`.
    package var moduleName: String {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return kind == .sharedObject ? String(name.dropLast(3)) : name
    }

    /// Whether the file can be used, without running anything of it.
    ///
    /// - Throws: ``Status/unavailable``, as an absence where there is no such file.
    package func check() throws(TokenKeepError) {
        if kind == .program { _ = try program() } else { close(try open()) }
    }

    /// Opens the file for reading and checks what was opened.
    ///
    /// - Returns: a descriptor, which is the caller's.
    func open() throws(TokenKeepError) -> Int32 { try open(path) }

    private func open(_ path: String) throws(TokenKeepError) -> Int32 {
        // O_NONBLOCK: a pipe in the file's place must not hold us up.
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

    /// The path by which the program is to be run: without links, and nobody else may put another one there. What was
    /// checked may change: whoever starts the program asks anew.
    ///
    /// - Throws: ``Status/unavailable``, where it may not be run.
    func program() throws(TokenKeepError) -> String {
        guard let real = realpath(path, nil) else {
            throw refused(ModuleFile.words(errno), isAbsence: ModuleFile.isOfTheFile(errno))
        }
        defer { free(real) }
        guard let resolved = String(validatingCString: real) else { throw refused("its path is not UTF-8") }
        close(try open(resolved))
        guard faccessat(AT_FDCWD, resolved, X_OK, AT_EACCESS) == 0 else {
            throw refused("it is not executable", hint: "chmod +x \(resolved)")
        }
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

    /// Why the module cannot be used: an absence, unless the reason may be gone by the next call.
    func refused(_ words: String, hint: String? = nil, isAbsence: Bool = true) -> TokenKeepError {
        TokenKeepError(.unavailable, "\(path) cannot be used: \(words)", hint: hint, isAbsence: isAbsence)
    }

    /// Whether an error says something of the file, and not of what the process or the machine lacks right now.
    private static func isOfTheFile(_ error: Int32) -> Bool { ![EMFILE, ENFILE, ENOMEM, EINTR, EIO].contains(error) }

    static func words(_ error: Int32) -> String { strerror(error).map { String(cString: $0) } ?? "error \(error)" }
}
