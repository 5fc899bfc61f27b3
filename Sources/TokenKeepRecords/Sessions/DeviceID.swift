package import TokenKeepCore
import TokenKeepKeys

/// The file `sessions/device@MACHINE`: an id for the user of this vault on this machine.
///
/// The file contains a random UUID (RFC 9562, section 5.4) and a newline. A copy of the vault on another machine gets
/// another id.
package enum DeviceID {
    private static let length = 36

    /// Reads the id of this machine. Makes the id at the first use. Renames a damaged file, and makes a new id.
    package static func read(_ records: Records, _ call: CallContext) throws(TokenKeepError) -> String {
        let directory = try records.openOrMake(call).directory
        let folder = try SessionLock.folder(of: directory)
        let file = "device@" + Hexadecimal.text(MachineID.current.bytes)
        if let id = try? present(file, folder) { return id }
        // Only one process may make the id. Acquire a lock under a name that no session has.
        let place = try ItemName(service: "org.tokenkeep.session.device", account: "")
        guard let lock = try SessionLock.acquire(.change, of: place, records, call) else {
            throw TokenKeepError(.busy, "another process is making the device id", hint: "try again")
        }
        do throws(TokenKeepError) {
            if let id = try present(file, folder) { return id }
        } catch {
            guard error.status == .corrupt else { throw error }
            try VaultFiles.setAside(file, in: folder)
        }
        let id = make()
        try Array("\(id)\n".utf8).lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(file, in: folder, with: bytes)
        }
        _ = consume lock
        return id
    }

    /// Reads this machine's id from its file; nil if there is no file.
    private static func present(_ file: String, _ folder: OwnedDescriptor) throws(TokenKeepError) -> String? {
        guard let bytes = try VaultFiles.read(file, in: folder, atMost: length + 1) else { return nil }
        let text = String(decoding: bytes.prefix(length), as: UTF8.self)
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard bytes.count == length + 1, bytes.last == UInt8(ascii: "\n"), text.utf8.count == length,
            Hexadecimal.bytes(String(decoding: digits, as: UTF8.self), count: 16) != nil
        else { throw FormatFault.malformed("it is no UUID").error(in: "sessions/\(file)") }
        return text
    }

    private static func make() -> String {
        var bytes = RandomBytes.make(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let parts = [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
        return parts.map { Hexadecimal.text(Array($0)) }.joined(separator: "-")
    }
}
