import TestSupport
import TokenKeepEngine

extension StoreConfiguration {
    /// Uses a real keyring, which needs more time for a drain on a busy machine; no bus if `isConnected` is false.
    mutating func use(_ keyring: PrivateKeyring, isConnected: Bool = true) {
        busAddress = isConnected ? keyring.bus.address : "unix:path=/nonexistent/bus"
        drainMilliseconds = 5000
    }
}
