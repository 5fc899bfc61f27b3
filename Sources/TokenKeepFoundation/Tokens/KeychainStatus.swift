public import TokenKeep

/// A result code of Apple's Keychain.
public typealias OSStatus = Int32

/// The Keychain's number for success.
public let errSecSuccess: OSStatus = 0
/// The Keychain's number for `notFound`.
public let errSecItemNotFound: OSStatus = -25300
/// The Keychain's number for `duplicate`.
public let errSecDuplicateItem: OSStatus = -25299
/// The Keychain's number for `denied`.
public let errSecAuthFailed: OSStatus = -25293
/// The Keychain's number for `unavailable`.
public let errSecNotAvailable: OSStatus = -25291
/// The Keychain's number for `locked`.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// The Keychain's number for `cancelled`.
public let errSecUserCanceled: OSStatus = -128
/// The Keychain's number for `corrupt`.
public let errSecDecode: OSStatus = -26275
/// The Keychain's number for `invalid`.
public let errSecParam: OSStatus = -50
/// The Keychain's number for `unsupported`.
public let errSecUnimplemented: OSStatus = -4

extension TokenKeepError {
    /// The Keychain's number for the status; nil if the Keychain has no such number, for example for `timedOut`.
    public var osStatus: OSStatus? {
        switch status {
        case .ok: errSecSuccess
        case .notFound: errSecItemNotFound
        case .locked: errSecInteractionNotAllowed
        case .unavailable: errSecNotAvailable
        case .cancelled: errSecUserCanceled
        case .denied: errSecAuthFailed
        case .duplicate: errSecDuplicateItem
        case .corrupt: errSecDecode
        case .invalid: errSecParam
        case .unsupported: errSecUnimplemented
        default: nil
        }
    }
}
