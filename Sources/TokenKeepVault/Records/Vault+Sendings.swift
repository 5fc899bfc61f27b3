import Glibc
import SystemPackage
public import TokenKeepCore

// A value that goes straight to a module has no record. Should its sender be killed, the value may still arrive, later than
// another that was saved meanwhile: so its fingerprint stands in the item's hint while it is on its way. That need not survive
// the machine, whose end is the end of every message.

extension Vault {
    /// Notes that a value of the item is about to be sent to a module. As good as it goes: a disk that is full keeps no
    /// item from its module.
    ///
    /// To be called while the item's lock is held, as the others here.
    public func noteSending(_ fingerprint: [UInt8], of name: ItemName) {
        guard let (hints, file) = try? hint(of: name) else { return }
        try? hints.append(fingerprint, to: file)
    }

    /// The fingerprints of values that were sent and of which it is not known what became of them.
    public func sendings(of name: ItemName) -> [[UInt8]] {
        guard let (hints, file) = try? hint(of: name) else { return [] }
        return (try? hints.fingerprints(in: file)) ?? []
    }

    /// Forgets what was sent: it has arrived, or never will.
    ///
    /// - Parameter isOwing: whether the item's record owes something, so that the hint itself stays.
    public func forgetSendings(of name: ItemName, isOwing: Bool) {
        guard let (hints, file) = try? hint(of: name) else { return }
        if isOwing { try? hints.empty(file) } else { try? hints.remove(file) }
    }

    private func hint(of name: ItemName) throws(TokenKeepError) -> (OwedHints, [UInt8])? {
        guard let opened = try open() else { return nil }
        return (OwedHints(opened.directory), opened.keys.fileName(of: name))
    }
}
