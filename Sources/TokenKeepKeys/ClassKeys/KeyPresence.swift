/// Checks whether a key that an unlock opened is still open. Neither reads the vault nor contains the key.
package struct KeyPresence: Sendable {
    let store: ClassKeyStore
    let place: String

    /// Whether the key is still open: no process has locked the vault, and the key has not expired.
    package var isOpen: Bool { store.holds(place) }
}
