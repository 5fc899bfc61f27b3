import Glibc

/// Reads the names of the files in a directory.
package enum DirectoryNames {
    /// The sorted names, except names that begin with a dot or are not UTF-8; nil if the directory cannot be opened.
    package static func visible(in path: String) -> [String]? {
        var opened = opendir(path)
        while opened == nil, errno == EINTR { opened = opendir(path) }
        guard let directory = opened else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                if errno == EINTR { continue }
                break
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if let name, !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
