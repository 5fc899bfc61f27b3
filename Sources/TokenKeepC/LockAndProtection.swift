import TokenKeepCore
import TokenKeepEngine
public import TokenKeepHeaders

// Unlocking, locking and protection. tokenkeep/store.h documents each function.

/// A `tokenkeep_protection`.
final class ProtectionHandle: Sendable {
    private let strengths: [ProtectionStrength]
    private let texts: CStrings

    init(_ protection: Protection) {
        let axes = ProtectionAxis.allCases.map { protection[$0] }
        strengths = axes.map(\.strength)
        texts = CStrings(axes.map(\.mechanism))
    }

    /// The index of an axis in `strengths` and `texts`; nil if `axis` is no known axis.
    private static func index(_ axis: UInt32) -> Int? {
        ProtectionAxis.allCases.firstIndex { $0.rawValue == axis }
    }

    func strength(_ axis: UInt32) -> UInt32 {
        ProtectionHandle.index(axis).map { strengths[$0].rawValue } ?? ProtectionStrength.none.rawValue
    }

    func mechanism(_ axis: UInt32) -> UnsafePointer<CChar>? { ProtectionHandle.index(axis).map { texts[$0] } }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_ready")
public func tokenkeep_ready(
    _ handle: OpaquePointer?, _ forSaving: UInt32, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in try store(handle).checkReady(forSaving: forSaving != 0) }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_unlock")
public func tokenkeep_unlock(
    _ handle: OpaquePointer?, _ password: UnsafeRawPointer?, _ length: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        try store.unlock(try Boundary.secret(password, length: length, for: store))
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_lock")
public func tokenkeep_lock(
    _ handle: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in _ = try store(handle).lock() }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_protection_for")
public func tokenkeep_protection_for(
    _ handle: OpaquePointer?, _ accessibility: UInt32, _ flags: UInt32,
    _ protection: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let level = try SaveOptions.level(accessibility) ?? .afterFirstUnlock
        let flags = try SaveOptions.keptFlags(flags)
        let protection = try Boundary.required(protection, "pointer for the protection")
        protection.pointee = retainForC(ProtectionHandle(try store.protection(of: level, flags)))
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_protection_axis")
public func tokenkeep_protection_axis(_ protection: OpaquePointer?, _ axis: UInt32) -> UInt32 {
    borrow(protection, as: ProtectionHandle.self)?.strength(axis) ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_protection_mechanism")
public func tokenkeep_protection_mechanism(_ protection: OpaquePointer?, _ axis: UInt32) -> UnsafePointer<CChar>? {
    borrow(protection, as: ProtectionHandle.self)?.mechanism(axis)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_protection_free")
public func tokenkeep_protection_free(_ protection: OpaquePointer?) {
    consume(protection, as: ProtectionHandle.self)
}
