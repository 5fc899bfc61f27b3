import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

extension TokenStore {
    /// A kind of device to which a vault can be bound.
    public enum Device: Sendable, CaseIterable {
        /// The machine's TPM 2.0, through `tokenkeep-tpm2`.
        case tpm2
        /// The service io.systemd.Credentials of systemd 256 or later.
        case systemd
        /// A key file of root. A copy of the home directory alone is useless without this file, but a copy of the whole
        /// disk contains the file.
        case machineKey

        init(_ core: DeviceProvider) {
            switch core {
            case .tpm2: self = .tpm2
            case .systemd: self = .systemd
            case .machineKey: self = .machineKey
            }
        }

        var core: DeviceProvider {
            switch self {
            case .tpm2: .tpm2
            case .systemd: .systemd
            case .machineKey: .machineKey
            }
        }
    }

    /// The kind of device to which the vault is bound; nil if the vault is bound to no device. Does not access the
    /// device.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/corrupt``, ``TokenKeepError/Status/denied`` or
    ///   ``TokenKeepError/Status/io`` if the vault cannot be read.
    public var device: Device? {
        get async throws {
            try await run { engine, _ throws(CoreError) in try engine.device.identity().map { Device($0.provider) } }
        }
    }

    /// Binds the vault to a device of this machine, once.
    ///
    /// The levels whose names end with `thisDeviceOnly` need a device. Until the vault is bound to a device, a save at
    /// such a level fails with ``TokenKeepError/Status/policy`` or ``TokenKeepError/Status/unsupported``. `tokenkeep
    /// device re-bind` binds the vault to another device.
    ///
    /// - Parameters:
    ///   - device: the kind of device; nil to choose the strongest kind that this machine has.
    ///   - password: the vault's password; nil if the vault has none.
    /// - Returns: the kind of device to which the vault is bound now.
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/duplicate`` if the vault is bound already,
    ///   ``TokenKeepError/Status/unavailable`` if this machine has no such device,
    ///   ``TokenKeepError/Status/locked`` if the vault has a password and none is given, or
    ///   ``TokenKeepError/Status/denied`` if the password is wrong. `CancellationError` if the task is cancelled.
    @discardableResult
    public func chooseDevice(_ device: Device? = nil, password: Secret? = nil) async throws -> Device {
        try await run { engine, _ throws(CoreError) in
            let chosen = try engine.device.choose(device?.core) { () throws(CoreError) in
                guard let password else {
                    throw CoreError(.locked, "the vault's password is needed to bind the vault to a device")
                }
                return password.core
            }
            return Device(chosen.provider)
        }
    }
}
