public import TokenKeepCore

/// The right to ask the user about an item. It ends with the process.
public struct AskingRight: Sendable {
    fileprivate let lock: VaultLock

    /// Lets others ask, and settle what the item's record owes.
    public func end() { lock.release() }
}

extension Vault {
    /// Takes the right to ask the user about an item, while no lock of the item is held: what its record owes is settled by
    /// nobody meanwhile, or the user's answer would concern what was saved since.
    ///
    /// To be called while the item's lock is held.
    ///
    /// - Returns: nil where somebody else asks.
    public func beginAsking(_ name: ItemName) throws(TokenKeepError) -> AskingRight? {
        guard let opened = try open() else { return nil }
        return try VaultLock(trying: .asking(name: opened.keys.fileName(of: name)), of: opened.directory)
            .map(AskingRight.init)
    }

    /// Whether somebody asks the user about an item just now; to be called while the item's lock is held.
    public func isAsking(_ name: ItemName) -> Bool {
        do throws(TokenKeepError) {
            guard let right = try beginAsking(name) else { return true }
            right.end()
            return false
        } catch {
            return true  // what is not paid now is paid later
        }
    }
}
