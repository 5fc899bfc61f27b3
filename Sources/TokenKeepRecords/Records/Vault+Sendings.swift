import Glibc
import SystemPackage
public import TokenKeepCore

// A value that goes straight to a module has no record. Should its sender be killed, the value may still arrive, later than
// another that was saved meanwhile: so its fingerprint is kept while it is on its way. Where the module says of no item since
// when it has it, that of the last one that arrived is kept too: it is ours, and not another program's. Nothing is synced:
// the machine's end is the end of every message.

extension Vault {
    /// Notes that a value of the item is about to be sent to a module. As good as it goes: a disk that is full keeps no
    /// item from its module.
    ///
    /// To be called while the item's lock is held, as the others here.
    public func noteSending(_ fingerprint: [UInt8], of name: ItemName, to module: String) {
        guard let (sent, file) = try? sent(of: name, to: module) else { return }
        try? sent.append(fingerprint, to: file)
    }

    /// Notes that a module has the value now: what was sent before has arrived before, or never will.
    public func noteArrival(_ fingerprint: [UInt8], of name: ItemName, in module: any Module) {
        keepSendings(module.datesItems ? [] : [fingerprint], of: name, to: module.name)
    }

    /// Forgets what was sent: the module has none of it, nor ever will.
    public func forgetSendings(of name: ItemName, to module: String) { keepSendings([], of: name, to: module) }

    /// The fingerprints of the value that a module last got, and of those of which it is not known what became of them.
    public func sendings(of name: ItemName, to module: String) -> [[UInt8]] {
        guard let (sent, file) = try? sent(of: name, to: module) else { return [] }
        return (try? sent.fingerprints(in: file)) ?? []
    }

    /// Takes back ``noteSending(_:of:to:)``: the value was not sent.
    ///
    /// - Parameter before: what ``sendings(of:to:)`` gave before the value was noted.
    public func takeBackSending(of name: ItemName, to module: String, leaving before: [[UInt8]]) {
        keepSendings(before, of: name, to: module)
    }

    private func keepSendings(_ fingerprints: [[UInt8]], of name: ItemName, to module: String) {
        guard let (sent, file) = try? sent(of: name, to: module) else { return }
        guard !fingerprints.isEmpty else { return (try? sent.remove(file)) ?? () }
        guard (try? sent.fingerprints(in: file)) != fingerprints else { return }
        try? sent.replace(with: fingerprints, in: file)
    }

    private func sent(of name: ItemName, to module: String) throws(TokenKeepError) -> (SentValues, String)? {
        guard let opened = try open() else { return nil }
        return (
            SentValues(opened.directory), SentValues.file(of: opened.keys.fileName(of: name), module: module)
        )
    }
}
