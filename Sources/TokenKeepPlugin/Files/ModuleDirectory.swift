import CSystemShims
import Glibc
import TokenKeepCore

/// The directory of the modules that a stack calls by name. Contains the files `NAME.so` and the programs `NAME`.
package enum ModuleDirectory {
    /// The directory's path: the value of `TOKENKEEP_MODULES`; if that is not set, the installation's directory.
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

    /// The directory of the installation to which this code belongs.
    private static var installed: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        path.withUnsafeMutableBufferPointer { tokenkeep_module_directory($0.baseAddress) }
        return path.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    /// The file of the module with this name; nil if there is none.
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
