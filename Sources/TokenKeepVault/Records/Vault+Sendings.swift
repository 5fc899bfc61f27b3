import Glibc
import SystemPackage
public import TokenKeepCore

// A value that goes straight to a module has no record. Should its sender be killed, the value may still arrive, later than
// another that was saved meanwhile: so its fingerprint is kept while it is on its way. That need not survive the machine,
// whose end is the end of every message.

extension Vault {
    /// Notes that a value of the item is about to be sent to a module. As good as it goes: a disk that is full keeps no
    /// item from its module.
    ///
    /// To be called while the item's lock is held, as the others here.
    public func noteSending(_ fingerprint: [UInt8], of name: ItemName) {
        guard let (sent, file) = try? sent(of: name) else { return }
        try? sent.append(fingerprint, to: file)
    }

    /// The fingerprints of values that were sent and of which it is not known what became of them.
    public func sendings(of name: ItemName) -> [[UInt8]] {
        guard let (sent, file) = try? sent(of: name) else { return [] }
        return (try? sent.fingerprints(in: file)) ?? []
    }

    /// Forgets what was sent: it has arrived, or never will.
    public func forgetSendings(of name: ItemName) {
        guard let (sent, file) = try? sent(of: name) else { return }
        try? sent.remove(file)
    }

    private func sent(of name: ItemName) throws(TokenKeepError) -> (SentValues, [UInt8])? {
        guard let opened = try open() else { return nil }
        return (SentValues(opened.directory), opened.keys.fileName(of: name))
    }
}
