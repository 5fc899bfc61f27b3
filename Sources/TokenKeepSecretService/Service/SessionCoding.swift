import TokenKeepCore

/// An open session with the service, and the form in which secrets travel over the bus.
protocol SessionCoding: Sendable {
    /// The session's object path, which is part of every secret on the bus.
    var path: ObjectPath { get }
    /// Whether the service agreed on a key; false for the algorithm `plain`.
    var isEncrypted: Bool { get }

    /// Encodes a secret as a value of type `(oayays)`.
    func encode(_ secret: SecretBytes) throws(TokenKeepError) -> Variant

    /// Decodes a value of type `(oayays)` whose parts have valid lengths; nil if the value does not decrypt.
    func decode(_ encoded: Variant) throws(TokenKeepError) -> SecretBytes?
}
