import CSystemShims
import Glibc
import SystemPackage
import TokenKeepCore

/// The file `generation`: a counter that moves before and after every change of a record, mapped by all processes.
///
/// An item that moves between modules may be missed by a reader that looks at one before and at the other after. The
/// counter tells the reader to look again.
struct Generation: ~Copyable {
    private static let file = "generation"
    private let counter: UnsafeMutablePointer<UInt64>

    /// Maps the counter, which is made if it is missing.
    init(_ directory: VaultDirectory) throws(TokenKeepError) {
        var counter: UnsafeMutablePointer<UInt64>?
        let error = tokenkeep_counter_map(directory.descriptor.number, Generation.file, &counter)
        guard error == 0, let counter else { throw Errno(rawValue: error).error("cannot map \(Generation.file)") }
        self.counter = counter
    }

    deinit { tokenkeep_counter_unmap(counter) }

    /// Moves the counter on.
    func advance() { tokenkeep_counter_advance(counter) }

    /// The counter now; 0 where there is none.
    static func read(in directory: VaultDirectory) throws(TokenKeepError) -> UInt64 {
        guard let bytes = try VaultFiles.read(file, in: directory.descriptor, atMost: 8) else { return 0 }
        return bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}
