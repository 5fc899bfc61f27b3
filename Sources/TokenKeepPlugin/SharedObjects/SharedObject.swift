import Glibc
import TokenKeepCore
internal import TokenKeepHeaders

/// A loaded and initialised shared object. Each file is loaded once per process, and never unloaded.
final class SharedObject: @unchecked Sendable {
    /// The module's table of functions. Functions that the module or this host does not know are nil.
    let table: tokenkeep_module

    /// Identifies a file while the file is open.
    private struct Identity: Hashable {
        let device: UInt
        let inode: UInt
    }

    /// The result of loading one file; nil before. While the file is loaded, `state` is locked, as long as the module's
    /// code runs.
    private final class Entry: Sendable {
        let state = MutexGuarded<Swift.Result<SharedObject, TokenKeepError>?>(nil)
    }

    private static let entries = MutexGuarded<[Identity: Entry]>([:])
    private static let names = MutexGuarded<Set<Int32>>([])
    static let symbol = "tokenkeep_module_init_1"

    private init(_ table: tokenkeep_module) { self.table = table }

    /// Loads the shared object in a file.
    ///
    /// - Throws: ``Status/unavailable``, with the reason as one line.
    static func load(_ file: ModuleFile) throws(TokenKeepError) -> SharedObject {
        let descriptor = try file.open()
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            close(descriptor)
            throw file.refused(ModuleFile.words(errno))
        }
        let identity = Identity(device: UInt(status.st_dev), inode: UInt(status.st_ino))
        let entry = entries.withLock { entries in
            let entry = entries[identity] ?? Entry()
            entries[identity] = entry
            return entry
        }
        return try entry.state.withLock { state throws(TokenKeepError) in
            if let state {
                close(descriptor)
                return try state.get()
            }
            // From here on, the descriptor stays open if anything was loaded: glibc identifies a loaded object by its
            // name, and the name contains the descriptor's number.
            let descriptor = try named(descriptor, file)
            let handle: UnsafeMutableRawPointer
            do throws(TokenKeepError) {
                handle = try open(try loadableName(descriptor, file), file)
            } catch {
                names.withLock { _ = $0.remove(descriptor) }
                close(descriptor)
                throw error
            }
            let result: Swift.Result<SharedObject, TokenKeepError>
            do throws(TokenKeepError) {
                result = .success(SharedObject(try initialise(handle, file)))
            } catch {
                result = .failure(error)
            }
            state = result
            return try result.get()
        }
    }

    /// Returns a descriptor of the file whose number was not used for loading before.
    ///
    /// A host may have closed all descriptors, including those of loaded modules, so that the system assigns their
    /// numbers again.
    private static func named(_ descriptor: Int32, _ file: ModuleFile) throws(TokenKeepError) -> Int32 {
        try names.withLock { names throws(TokenKeepError) in
            var number = descriptor
            if names.contains(descriptor) {
                number = fcntl(descriptor, F_DUPFD_CLOEXEC, (names.max() ?? 2) + 1)
                let error = errno
                close(descriptor)
                guard number >= 0 else { throw file.refused(ModuleFile.words(error), isAbsence: false) }
            }
            names.insert(number)
            return number
        }
    }

    /// The name by which the loader opens the checked file: its descriptor in `/proc`; without `/proc`, a path at which
    /// no other user can replace the file.
    private static func loadableName(_ descriptor: Int32, _ file: ModuleFile) throws(TokenKeepError) -> String {
        let name = "/proc/self/fd/\(descriptor)"
        if access(name, F_OK) == 0 { return name }
        let path = try file.resolved()
        guard dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nil else {
            throw file.refused("an earlier file of this path is loaded", hint: "start the program again")
        }
        return path
    }

    private static func open(_ name: String, _ file: ModuleFile) throws(TokenKeepError) -> UnsafeMutableRawPointer {
        if let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | Int32(RTLD_NODELETE)) { return handle }
        let words = dlerror().map { String(cString: $0) } ?? "dlopen failed"
        let prefix = name + ": "
        throw file.refused(ForeignText.line(words.hasPrefix(prefix) ? String(words.dropFirst(prefix.count)) : words))
    }

    private static func initialise(
        _ handle: UnsafeMutableRawPointer, _ file: ModuleFile
    ) throws(TokenKeepError) -> tokenkeep_module {
        guard let address = dlsym(handle, symbol) else {
            throw file.refused("it has no function \(symbol)", hint: "it is no module, or one of another major version")
        }
        typealias Function =
            @convention(c) (
                UnsafePointer<tokenkeep_host>?, UInt32, UnsafeMutablePointer<tokenkeep_module>?
            ) -> tokenkeep_status
        let function = unsafeBitCast(address, to: Function.self)
        let room = UnsafeMutableRawPointer.allocate(byteCount: Int(TOKENKEEP_MODULE_ROOM), alignment: 16)
        defer { room.deallocate() }
        room.initializeMemory(as: UInt8.self, repeating: 0, count: Int(TOKENKEEP_MODULE_ROOM))
        room.storeBytes(of: MemoryLayout<tokenkeep_module>.size, as: Int.self)
        let answer = function(
            HostTable.address, UInt32(TOKENKEEP_MODULE_MINOR), room.bindMemory(to: tokenkeep_module.self, capacity: 1))
        var table = tokenkeep_module()
        let size = room.load(as: Int.self)
        let least = 48  // up to `load`
        guard ForeignStrings.copy(room, size: size, least: least, into: &table) else {
            throw file.refused("its table has an impossible struct_size: \(size)")
        }
        guard answer == TOKENKEEP_OK else {
            let reason = ForeignStrings.line(table.refusal) ?? "it refuses with status \(answer), and does not say why"
            throw file.refused(reason)
        }
        guard table.open != nil, table.load != nil else { throw file.refused("its table lacks open or load") }
        guard (table.save == nil) == (table.clear == nil) else {
            throw file.refused("its table has one of save and clear without the other")
        }
        return table
    }
}
