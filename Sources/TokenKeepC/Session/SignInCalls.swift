import TokenKeepCore
import TokenKeepEngine
public import TokenKeepHeaders
import TokenKeepOAuth
import TokenKeepSession

// Signing in. tokenkeep/oauth.h documents each function.

/// See oauth.h.
@implementation @_cdecl("tokenkeep_login")
public func tokenkeep_login(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ options: UnsafePointer<tokenkeep_login_options>?, _ session: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let service = try Boundary.text(service, "service", atMost: Limits.service)
        let account = try Boundary.optionalText(account, "account", atMost: Limits.account)
        let options = try SignInRequest(options)
        let session = try Boundary.required(session, "pointer for the session")
        let deadline = Deadline(milliseconds: options.milliseconds, cancellation: store.cancellation)
        let provider = try ProviderFiles.standard.existingProvider(named: options.provider)
        var sessionOptions = SessionOptions()
        sessionOptions.provider = options.provider
        try sessionOptions.useProviders()
        var login = try SessionSignIn(
            store, service: service, account: account, at: provider, options.signIn, sessionOptions)
        login.takesAnyone = options.takesAnyone
        session.pointee = retainForC(try login.run(until: deadline, options.presenter.present).session)
    }
}

/// See oauth.h.
@implementation @_cdecl("tokenkeep_login_step_kind")
public func tokenkeep_login_step_kind(_ step: OpaquePointer?) -> UInt32 {
    borrow(step, as: SignInStepHandle.self)?.kind ?? 0
}

/// See oauth.h.
@implementation @_cdecl("tokenkeep_login_step_url")
public func tokenkeep_login_step_url(_ step: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(step, as: SignInStepHandle.self)?.address
}

/// See oauth.h.
@implementation @_cdecl("tokenkeep_login_step_user_code")
public func tokenkeep_login_step_user_code(_ step: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(step, as: SignInStepHandle.self)?.userCode
}
