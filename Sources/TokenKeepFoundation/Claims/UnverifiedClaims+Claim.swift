extension UnverifiedClaims {
    /// The value of a claim: any value of JSON (RFC 8259).
    public indirect enum Claim: Sendable, Equatable, Decodable {
        /// `null`.
        case null
        /// `true` or `false`.
        case bool(Bool)
        /// An integer that a signed 64-bit number can hold.
        case integer(Int64)
        /// Any other number, as the nearest Double.
        case double(Double)
        /// A string.
        case string(String)
        /// An array.
        case array([Claim])
        /// An object.
        case object([String: Claim])

        /// Decodes a value. A number that is too large for a Double becomes ``null``. Throws `DecodingError` if there
        /// is no value.
        public init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let bool = try? value.decode(Bool.self) {
                self = .bool(bool)
            } else if let integer = try? value.decode(Int64.self) {
                self = .integer(integer)
            } else if let double = try? value.decode(Double.self) {
                self = .double(double)
            } else if let string = try? value.decode(String.self) {
                self = .string(string)
            } else if let array = try? value.decode([Claim].self) {
                self = .array(array)
            } else if let object = try? value.decode([String: Claim].self) {
                self = .object(object)
            } else {
                self = .null
            }
        }

        /// The text of a string; nil for any other value.
        public var text: String? {
            guard case .string(let text) = self else { return nil }
            return text
        }

        /// The value of a number; nil for any other value.
        public var number: Double? {
            switch self {
            case .integer(let integer): Double(integer)
            case .double(let double): double
            default: nil
            }
        }
    }
}
