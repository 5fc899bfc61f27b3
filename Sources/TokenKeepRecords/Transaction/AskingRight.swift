package import TokenKeepCore
import TokenKeepKeys

/// The right to ask the user about an item. It ends with the process.
package struct AskingRight: Sendable {
    fileprivate let lock: VaultLock

    /// Lets others ask, and drain the item.
    package func end() { lock.release() }
}

extension ItemTransaction {
    /// Takes the right to ask the user about the item after the transaction: until the right ends, nobody drains the item, or
    /// the user's answer would concern a value that was saved since.
    ///
    /// - Returns: nil if somebody else asks.
    package func beginAsking() throws(TokenKeepError) -> AskingRight? {
        try VaultLock(trying: .asking(id: keys.id(of: name)), of: vault.directory).map(AskingRight.init)
    }

    /// Whether somebody asks the user about the item now.
    package var isAsked: Bool {
        do throws(TokenKeepError) {
            guard let right = try beginAsking() else { return true }
            right.end()
            return false
        } catch {
            return true  // a drain that is left now happens later
        }
    }
}
