import TokenKeepCore
import TokenKeepEngine
public import TokenKeepHeaders

// The operations of a store. tokenkeep/store.h documents each function.

/// See store.h.
@implementation @_cdecl("tokenkeep_save")
public func tokenkeep_save(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ secret: UnsafeRawPointer?, _ length: Int, _ options: UnsafePointer<tokenkeep_save_options>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let (service, account) = try texts(service, account)
        let name = try ItemName(namespace: store.namespace, service: service, account: account)
        let options = try SaveOptions(options)
        var request = try SaveRequest(
            name: name, secret: try Boundary.secret(secret, length: length, for: store),
            accessLevel: options.accessLevel, flags: options.flags, label: options.label,
            attributes: options.attributes, expiresAt: options.expiresAt, precondition: options.precondition)
        request.keepsWhenLocked = options.keepsWhenLocked
        let outcome = try store.save(request)
        options.savedVersion?.pointee = outcome.version
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_load")
public func tokenkeep_load(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ loaded: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let (service, account) = try texts(service, account)
        let loaded = try Boundary.required(loaded, "pointer for the item")
        let item = try store.load(service: service, account: account)
        loaded.pointee = retainForC(ItemHandle(item.details, secret: item.secret))
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_clear")
public func tokenkeep_clear(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let (service, account) = try texts(service, account)
        try store.clear(service: service, account: account)
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_clear_if")
public func tokenkeep_clear_if(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ version: UInt64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let (service, account) = try texts(service, account)
        try store.clear(service: service, account: account, ifVersion: version)
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_clear_service")
public func tokenkeep_clear_service(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ cleared: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let service = try Boundary.text(service, "service", atMost: Limits.service)
        let count = try store.clear(service: service)
        cleared?.pointee = count
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_list")
public func tokenkeep_list(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ listed: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let service = try Boundary.optionalText(service, "service", atMost: Limits.service)
        let listed = try Boundary.required(listed, "pointer for the list")
        listed.pointee = retainForC(ListHandle(try store.list(service: service)))
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_sync")
public func tokenkeep_sync(
    _ handle: OpaquePointer?, _ drained: UnsafeMutablePointer<Int>?, _ left: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let outcome = try store(handle).pendingChanges.sync()
        drained?.pointee = outcome.drained
        left?.pointee = outcome.left
    }
}

private func texts(
    _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?
) throws(TokenKeepError) -> (service: String, account: String) {
    (
        try Boundary.text(service, "service", atMost: Limits.service),
        try Boundary.text(account, "account", atMost: Limits.account)
    )
}
