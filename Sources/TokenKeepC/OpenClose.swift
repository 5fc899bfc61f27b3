import TokenKeepCore
import TokenKeepEngine
public import TokenKeepHeaders

// Opening and closing a store. tokenkeep/store.h documents each function.

/// See store.h.
@implementation @_cdecl("tokenkeep_open")
public func tokenkeep_open(
    _ options: UnsafePointer<tokenkeep_open_options>?, _ opened: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let configuration = try StoreConfiguration(options)
        let opened = try Boundary.required(opened, "pointer for the store")
        opened.pointee = retainForC(try Store(configuration))
    }
}

/// See store.h.
@implementation @_cdecl("tokenkeep_close")
public func tokenkeep_close(_ store: OpaquePointer?) {
    consume(store, as: Store.self)
}

/// See store.h.
@implementation @_cdecl("tokenkeep_cancel")
public func tokenkeep_cancel(_ store: OpaquePointer?) {
    Boundary.run { borrow(store, as: Store.self)?.cancel() }
}
