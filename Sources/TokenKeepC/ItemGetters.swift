import Glibc
import TokenKeepCore
import TokenKeepHeaders

// Items. tokenkeep/store.h documents each function.

/// See store.h. The returned pointer leads into guarded memory.
@implementation @_cdecl("tokenkeep_item_secret")
public func tokenkeep_item_secret(_ item: OpaquePointer?, _ length: UnsafeMutablePointer<Int>?) -> UnsafeRawPointer? {
    let secret = borrow(item, as: ItemHandle.self)?.secret
    length?.pointee = secret?.count ?? 0
    return secret?.unsafeAddress
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_namespace")
public func tokenkeep_item_namespace(_ item: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(item, as: ItemHandle.self)?.text(.namespace)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_service")
public func tokenkeep_item_service(_ item: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(item, as: ItemHandle.self)?.text(.service)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_account")
public func tokenkeep_item_account(_ item: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(item, as: ItemHandle.self)?.text(.account)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_label")
public func tokenkeep_item_label(_ item: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(item, as: ItemHandle.self)?.text(.label)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_module")
public func tokenkeep_item_module(_ item: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(item, as: ItemHandle.self)?.text(.module)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_attribute_count")
public func tokenkeep_item_attribute_count(_ item: OpaquePointer?) -> Int {
    borrow(item, as: ItemHandle.self)?.details.attributes.pairs.count ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_attribute_at")
public func tokenkeep_item_attribute_at(
    _ item: OpaquePointer?, _ index: Int, _ name: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ value: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Int32 {
    guard let item = borrow(item, as: ItemHandle.self), item.details.attributes.pairs.indices.contains(index) else {
        return 0
    }
    let attribute = item.attribute(at: index)
    name?.pointee = attribute.name
    value?.pointee = attribute.value
    return 1
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_attribute")
public func tokenkeep_item_attribute(
    _ item: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    guard let item = borrow(item, as: ItemHandle.self), let name else { return nil }
    for index in item.details.attributes.pairs.indices {
        let attribute = item.attribute(at: index)
        if strcmp(attribute.name, name) == 0 { return attribute.value }
    }
    return nil
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_accessibility")
public func tokenkeep_item_accessibility(_ item: OpaquePointer?) -> UInt32 {
    borrow(item, as: ItemHandle.self)?.details.accessLevel.rawValue ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_flags")
public func tokenkeep_item_flags(_ item: OpaquePointer?) -> UInt32 {
    borrow(item, as: ItemHandle.self)?.details.flags.rawValue ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_created_at")
public func tokenkeep_item_created_at(_ item: OpaquePointer?) -> Int64 {
    borrow(item, as: ItemHandle.self)?.details.createdAt?.rawValue ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_modified_at")
public func tokenkeep_item_modified_at(_ item: OpaquePointer?) -> Int64 {
    borrow(item, as: ItemHandle.self)?.details.modifiedAt?.rawValue ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_expires_at")
public func tokenkeep_item_expires_at(_ item: OpaquePointer?) -> Int64 {
    borrow(item, as: ItemHandle.self)?.details.expiresAt?.rawValue ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_version")
public func tokenkeep_item_version(_ item: OpaquePointer?) -> UInt64 {
    borrow(item, as: ItemHandle.self)?.details.version ?? 0
}

/// See store.h.
@implementation @_cdecl("tokenkeep_item_free")
public func tokenkeep_item_free(_ item: OpaquePointer?) {
    consume(item, as: ItemHandle.self)
}
