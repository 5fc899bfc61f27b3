package import TokenKeepCore
import TokenKeepKeys

/// The right of a process to prompt the user about an item. The right ends with the process at the latest.
package struct PromptRight: Sendable {
    fileprivate let lock: VaultLock

    /// Ends the right. Other processes may then prompt the user, and apply the item's pending changes.
    package func end() { lock.release() }
}

extension ItemTransaction {
    /// Acquires the right to prompt the user about the item; nil if another process or thread holds the right.
    ///
    /// While the right is held, no process applies the item's pending changes. Otherwise the user's answer, which is
    /// about the value at the time of the prompt, could be applied to a value that was saved later. The right may be
    /// held longer than the item's lock.
    package func beginAsking() throws(TokenKeepError) -> PromptRight? {
        try VaultLock(trying: .asking(id: keys.id(of: name)), of: vault.directory).map(PromptRight.init)
    }

    /// Whether a process is prompting the user about the item now.
    package var isAsked: Bool {
        do throws(TokenKeepError) {
            guard let right = try beginAsking() else { return true }
            right.end()
            return false
        } catch {
            return true  // the pending changes are then applied later
        }
    }
}
