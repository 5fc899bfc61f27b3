/// A source, on this machine, of a secret that copies of the vault do not contain.
package enum DeviceProvider: UInt8, CaseIterable, Sendable {
    /// The machine's TPM 2.0.
    case tpm2 = 1
    /// systemd's credential service, which uses the keys of the host and of its TPM 2.0.
    case systemd = 2
    /// The file `/var/lib/tokenkeep/machine-key`.
    case machineKey = 3

    /// The providers that this version supports, in the order of preference.
    package static let supported: [DeviceProvider] = [.tpm2, .systemd, .machineKey]

    /// The provider's name on the command line.
    package var word: String {
        switch self {
        case .tpm2: "tpm2"
        case .systemd: "systemd"
        case .machineKey: "machine-key"
        }
    }

    /// The length of a device's public name, in bytes.
    var nameLength: Int {
        switch self {
        case .tpm2: 34
        case .systemd: 0
        case .machineKey: 32
        }
    }
}
