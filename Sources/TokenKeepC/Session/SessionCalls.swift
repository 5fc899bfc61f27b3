import Glibc
import TokenKeepCore
import TokenKeepEngine
public import TokenKeepHeaders
import TokenKeepSession

// Sessions. tokenkeep/session.h documents each function.

private func session(_ pointer: OpaquePointer?) throws(TokenKeepError) -> SessionEngine {
    try Boundary.required(borrow(pointer, as: SessionEngine.self), "session")
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_open")
public func tokenkeep_session_open(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ options: UnsafePointer<tokenkeep_session_options>?, _ opened: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let service = try Boundary.text(service, "service", atMost: Limits.service)
        let account = try Boundary.optionalText(account, "account", atMost: Limits.account)
        let options = try SessionOptions(options)
        let opened = try Boundary.required(opened, "pointer for the session")
        opened.pointee = retainForC(try SessionEngine(store, service: service, account: account, options))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_close")
public func tokenkeep_session_close(_ session: OpaquePointer?) { consume(session, as: SessionEngine.self) }

/// See session.h.
@implementation @_cdecl("tokenkeep_session_begin")
public func tokenkeep_session_begin(
    _ handle: OpaquePointer?, _ kind: UInt32, _ response: UnsafeRawPointer?, _ length: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        guard let kind = UInt8(exactly: kind).flatMap(SessionKind.init(rawValue:)) else {
            throw TokenKeepError(.invalid, "kind \(kind) is no kind of session", hint: "1 is a user, 2 a guest")
        }
        try session.begin(kind, response: Boundary.secret(response, length: length, for: session.store))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_hydrate")
public func tokenkeep_session_hydrate(
    _ handle: OpaquePointer?, _ accessToken: UnsafePointer<CChar>?, _ refreshToken: UnsafePointer<CChar>?,
    _ expiresIn: Int64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let access = try token(accessToken, "access_token")
        let refresh = try token(refreshToken, "refresh_token")
        guard expiresIn >= -1 else { throw TokenKeepError(.invalid, "expires_in is less than -1") }
        try session.hydrate(
            accessToken: access, refreshToken: refresh, expiresIn: expiresIn == -1 ? nil : expiresIn)
    }
}

/// Copies a token of at most 256 KiB into guarded memory.
private func token(_ pointer: UnsafePointer<CChar>?, _ argument: String) throws(TokenKeepError) -> SecretBytes {
    let pointer = try Boundary.required(pointer, argument)
    let limit = JSONValue.maximumLength
    // At most one byte past the limit is read, because the caller's text may lack its NUL.
    let length = strnlen(pointer, limit + 1)
    guard length <= limit else { throw TokenKeepError(.invalid, "the \(argument) is longer than \(limit) bytes") }
    return try SecretBytes(copying: UnsafeRawBufferPointer(start: pointer, count: length))
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_token")
public func tokenkeep_session_token(
    _ handle: OpaquePointer?, _ minTTL: UInt32, _ token: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let token = try Boundary.required(token, "pointer for the token")
        token.pointee = retainForC(TokenHandle(try session.token(minTTL: minTTL)))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_refresh")
public func tokenkeep_session_refresh(
    _ handle: OpaquePointer?, _ token: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let token = try Boundary.required(token, "pointer for the token")
        token.pointee = retainForC(TokenHandle(try session.refresh()))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_rejected")
public func tokenkeep_session_rejected(
    _ handle: OpaquePointer?, _ refused: OpaquePointer?, _ token: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let refused = try Boundary.required(borrow(refused, as: TokenHandle.self), "refused token")
        let token = try Boundary.required(token, "pointer for the token")
        token.pointee = retainForC(
            TokenHandle(try session.rejected(refused.token.value, for: refused.token.target)))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_token_for")
public func tokenkeep_session_token_for(
    _ handle: OpaquePointer?, _ resource: UnsafePointer<CChar>?, _ scope: UnsafePointer<CChar>?, _ minTTL: UInt32,
    _ token: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let target = try TokenTarget(
            resource: Boundary.optionalText(resource, "resource", atMost: 4096),
            scope: Boundary.optionalText(scope, "scope", atMost: 4096))
        let token = try Boundary.required(token, "pointer for the token")
        token.pointee = retainForC(TokenHandle(try session.token(minTTL: minTTL, for: target)))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_validate")
public func tokenkeep_session_validate(
    _ handle: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in try session(handle).validate() }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_extend")
public func tokenkeep_session_extend(
    _ handle: OpaquePointer?, _ seconds: UInt32, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in try session(handle).extend(by: seconds) }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_profile")
public func tokenkeep_session_profile(
    _ handle: OpaquePointer?, _ profile: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let profile = try Boundary.required(profile, "pointer for the profile")
        guard let secret = try session.profile() else {
            throw TokenKeepError(.notFound, "the session of \(session.name) has no profile")
        }
        let details = ItemDetails(
            name: session.name, label: session.name.defaultLabel, accessLevel: .afterFirstUnlock, module: "")
        profile.pointee = retainForC(ItemHandle(details, secret: secret))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_set_profile")
public func tokenkeep_session_set_profile(
    _ handle: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        try session.setProfile(Boundary.secret(json, length: length, for: session.store))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_state")
public func tokenkeep_session_state(
    _ handle: OpaquePointer?, _ info: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let info = try Boundary.required(info, "pointer for the state")
        info.pointee = retainForC(SessionInfoHandle(try session.info()))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_next")
public func tokenkeep_session_next(
    _ handle: OpaquePointer?, _ info: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let info = try Boundary.required(info, "pointer for the state")
        guard let next = try session.nextState() else { throw TokenKeepError(.notFound, "nothing has changed") }
        info.pointee = retainForC(SessionInfoHandle(next))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_fd")
public func tokenkeep_session_fd(_ handle: OpaquePointer?) -> Int32 {
    (try? borrow(handle, as: SessionEngine.self)?.watchDescriptor()) ?? -1
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_step")
public func tokenkeep_session_step(
    _ handle: OpaquePointer?, _ milliseconds: UnsafeMutablePointer<UInt32>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let milliseconds = try Boundary.required(milliseconds, "pointer for the time")
        milliseconds.pointee = try session.step()
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_list")
public func tokenkeep_session_list(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ infos: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let service = try Boundary.optionalText(service, "service", atMost: Limits.service)
        let infos = try Boundary.required(infos, "pointer for the list")
        infos.pointee = retainForC(SessionInfosHandle(try Sessions(store).list(service: service)))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_switch")
public func tokenkeep_session_switch(
    _ handle: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let service = try Boundary.text(service, "service", atMost: Limits.service)
        let account = try Boundary.text(account, "account", atMost: Limits.account)
        try Sessions(store).makeActive(service: service, account: account)
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_device_id")
public func tokenkeep_device_id(
    _ handle: OpaquePointer?, _ id: UnsafeMutablePointer<CChar>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let store = try store(handle)
        let id = try Boundary.required(id, "buffer for the device id")
        let text = try Sessions(store).deviceID()
        UnsafeMutableRawBufferPointer(start: id, count: 36).copyBytes(from: text.utf8)
        id[36] = 0
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_end")
public func tokenkeep_session_end(
    _ handle: OpaquePointer?, _ flags: UInt32, _ report: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        try checkFlags(flags, known: UInt32(TOKENKEEP_SESSION_LOCAL_ONLY), "end of a session")
        let ended = try session.end(isLocalOnly: flags & UInt32(TOKENKEEP_SESSION_LOCAL_ONLY) != 0)
        report?.pointee = retainForC(EndReportHandle(ended))
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_flush")
public func tokenkeep_session_flush(
    _ handle: OpaquePointer?, _ sent: UnsafeMutablePointer<Int>?, _ left: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let outbox = try Outbox(openSessionsOf: store(handle), fallback: SessionOptions.flushTransport)
        let flushed = try outbox.flush()
        if let problem = flushed.problem { throw problem }
        sent?.pointee = flushed.sent
        left?.pointee = flushed.left
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_on_end")
public func tokenkeep_session_on_end(
    _ handle: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ order: UInt32, _ hook: tokenkeep_end_fn?,
    _ data: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let session = try session(handle)
        let name = try Boundary.text(name, "name of the hook", atMost: 255)
        let hook = try Boundary.required(hook, "hook")
        session.onEnd(name, order: order, CEndHook(function: hook, data: data).body)
    }
}

/// See session.h.
@implementation @_cdecl("tokenkeep_jwt_claim_unverified")
public func tokenkeep_jwt_claim_unverified(
    _ jwt: UnsafePointer<CChar>?, _ length: Int, _ name: UnsafePointer<CChar>?, _ value: UnsafeMutablePointer<CChar>?,
    _ capacity: Int, _ valueLength: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> tokenkeep_status {
    Boundary.run(error) { () throws(TokenKeepError) in
        let jwt = try Boundary.required(jwt, "token")
        let name = try Boundary.text(name, "name of the claim", atMost: 255)
        guard (0...JSONValue.maximumLength).contains(length) else {
            throw TokenKeepError(.invalid, "the token is longer than \(JSONValue.maximumLength) bytes")
        }
        let secret = try SecretBytes(copying: UnsafeRawBufferPointer(start: jwt, count: length))
        guard let claims = UnverifiedClaims(unverified: secret) else {
            throw TokenKeepError(.unsupported, "the token is no JSON Web Token")
        }
        guard let claim = claims.unverified(name) else { throw TokenKeepError(.notFound, "no claim \(name)") }
        let count = claim.utf8.count
        guard let value, count < capacity else {
            throw TokenKeepError(.invalid, "the claim needs \(count + 1) bytes")
        }
        UnsafeMutableRawBufferPointer(start: value, count: count).copyBytes(from: claim.utf8)
        value[count] = 0
        valueLength?.pointee = count
    }
}
