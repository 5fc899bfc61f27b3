package import TokenKeepCore
import TokenKeepKeys

/// The exclusive right of one process to renew the tokens of all sessions (signed-in accounts) of a vault in advance.
///
/// The right ends with the process at the latest.
package enum KeeperLock {
    private static let file = "keeper"

    /// Acquires the right. Waits at most a second.
    ///
    /// - Throws: ``Status/busy`` if another process holds the right. The message contains the id of that process, if it
    ///   is known.
    package static func acquire(_ records: Records, process: Int32) throws(TokenKeepError) -> SessionLock {
        let place = try ItemName(service: "org.tokenkeep.session.keeper", account: "")
        let call = CallContext(deadline: Deadline(milliseconds: 1000))
        let folder = try SessionLock.folder(of: records.openOrMake(call).directory)
        guard let lock = try SessionLock.acquire(.refresh, of: place, records, call) else {
            let bytes = (try? VaultFiles.read(file, in: folder, atMost: 16)) ?? nil
            let holder = bytes.flatMap { Int32(String(decoding: $0.dropLast(), as: UTF8.self)) }
            throw TokenKeepError(
                .busy,
                "\(holder.map { "process \($0)" } ?? "another process") keeps the sessions of this vault already",
                hint: "end it first")
        }
        try Array("\(process)\n".utf8).lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(file, in: folder, with: bytes, .none)
        }
        return lock
    }
}
