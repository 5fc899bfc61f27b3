/// A key that an unlock opened, without the key: whether it is still open is asked without reading the vault again.
package struct ResidentKey: Sendable {
    let store: ClassKeyStore
    let place: String

    /// Whether the key is open. A lock by any process ends this, and the expiry of the key.
    package var isOpen: Bool { store.holds(place) }
}
