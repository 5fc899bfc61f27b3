import TestSupport
import TokenKeepEngine

extension StoreConfiguration {
    /// Uses a real keyring; no bus if `isConnected` is false.
    mutating func use(_ keyring: PrivateKeyring, isConnected: Bool = true) {
        busAddress = isConnected ? keyring.bus.address : "unix:path=/nonexistent/bus"
    }
}
