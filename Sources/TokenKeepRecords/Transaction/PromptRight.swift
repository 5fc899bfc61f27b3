package import TokenKeepCore
import TokenKeepKeys

/// The right to ask the user about an item. The right ends with the process.
package struct PromptRight: Sendable {
    fileprivate let lock: VaultLock

    /// Ends the right: other processes may ask about the item, and drain it.
    package func end() { lock.release() }
}

extension ItemTransaction {
    /// Acquires the right to prompt about the item, which only one process has at a time. It outlives the transaction.
    ///
    /// Until the right ends, no process drains the item. Otherwise the user's answer could apply to a value that was
    /// saved later.
    ///
    /// - Returns: nil if another process or thread holds the right.
    package func beginAsking() throws(TokenKeepError) -> PromptRight? {
        try VaultLock(trying: .asking(id: keys.id(of: name)), of: vault.directory).map(PromptRight.init)
    }

    /// Whether a process is asking the user about the item now.
    package var isAsked: Bool {
        do throws(TokenKeepError) {
            guard let right = try beginAsking() else { return true }
            right.end()
            return false
        } catch {
            return true  // a later drain catches up
        }
    }
}
