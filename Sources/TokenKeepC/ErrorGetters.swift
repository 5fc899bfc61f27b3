import TokenKeepCore
public import TokenKeepHeaders

// Errors and statuses. tokenkeep/store.h documents each function.

/// See store.h.
@implementation @_cdecl("tokenkeep_error_status")
public func tokenkeep_error_status(_ error: OpaquePointer?) -> tokenkeep_status {
    borrow(error, as: ErrorHandle.self)?.status.rawValue ?? Status.ok.rawValue
}

/// See store.h.
@implementation @_cdecl("tokenkeep_error_message")
public func tokenkeep_error_message(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(error, as: ErrorHandle.self)?.message ?? Constants.noMessage[0]
}

/// See store.h.
@implementation @_cdecl("tokenkeep_error_module")
public func tokenkeep_error_module(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(error, as: ErrorHandle.self)?.module
}

/// See store.h.
@implementation @_cdecl("tokenkeep_error_free")
public func tokenkeep_error_free(_ error: OpaquePointer?) {
    consume(error, as: ErrorHandle.self)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_status_name")
public func tokenkeep_status_name(_ status: tokenkeep_status) -> UnsafePointer<CChar>? {
    let index = Status.allCases.firstIndex { $0.rawValue == status }
    return Constants.statusNames[index ?? Status.allCases.count]
}

/// See store.h.
@implementation @_cdecl("tokenkeep_version")
public func tokenkeep_version() -> UnsafePointer<CChar>? {
    Constants.version[0]
}

/// See store.h.
@implementation @_cdecl("tokenkeep_version_number")
public func tokenkeep_version_number() -> UInt32 {
    UInt32(TOKENKEEP_VERSION_NUMBER)
}

/// Texts that live as long as the process.
private enum Constants {
    static let noMessage = CStrings([""])
    static let statusNames = CStrings(Status.allCases.map(\.name) + ["UNKNOWN"])
    static let version = CStrings([TOKENKEEP_VERSION])
}
