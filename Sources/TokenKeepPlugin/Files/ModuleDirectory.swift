import CSystemShims
import Glibc
import TokenKeepCore

/// The directory of modules that a stack calls by name: `NAME.so`, or the program `NAME`.
package enum ModuleDirectory {
    /// The directory's path: `TOKENKEEP_MODULES`, else the directory of the installation.
    ///
    /// The variable is ignored if the program has more rights than its caller.
    package static var path: String {
        if !Privileges.areRaised, let value = getenv("TOKENKEEP_MODULES"),
            let path = String(validatingCString: value), path.utf8.first == UInt8(ascii: "/")
        {
            return path
        }
        return installed
    }

    /// The directory in the installation that this code belongs to.
    private static var installed: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        path.withUnsafeMutableBufferPointer { tokenkeep_module_directory($0.baseAddress) }
        return path.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    /// The file of a module; nil if there is none.
    package static func file(of name: String) -> ModuleFile? {
        guard ModuleName.isValidFileName(name) else { return nil }
        let path = path
        return ["\(path)/\(name).so", "\(path)/\(name)"].first { (path: String) in access(path, F_OK) == 0 }
            .map { ModuleFile(path: $0) }
    }

    /// The modules in the directory, sorted by name.
    package static func files() -> [ModuleFile] {
        (DirectoryNames.visible(in: path) ?? []).map { ModuleFile(path: "\(path)/\($0)") }
            .filter { $0.kind == .sharedObject || access($0.path, X_OK) == 0 }
            .filter { file(of: $0.moduleName)?.path == $0.path }
    }
}
