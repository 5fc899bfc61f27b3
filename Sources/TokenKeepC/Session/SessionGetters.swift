import TokenKeepCore
import TokenKeepHeaders
import TokenKeepSession

// Getters of sessions' objects. tokenkeep/session.h documents each function.

/// See session.h.
@implementation @_cdecl("tokenkeep_token_value")
public func tokenkeep_token_value(
    _ token: OpaquePointer?, _ length: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let value = borrow(token, as: TokenHandle.self)?.token.value
    length?.pointee = value?.count ?? 0
    return value?.unsafeAddress.assumingMemoryBound(to: CChar.self)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_token_type")
public func tokenkeep_token_type(_ token: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(token, as: TokenHandle.self)?.type
}

/// See session.h.
@implementation @_cdecl("tokenkeep_token_scope")
public func tokenkeep_token_scope(_ token: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(token, as: TokenHandle.self)?.scope
}

/// See session.h.
@implementation @_cdecl("tokenkeep_token_expires_in")
public func tokenkeep_token_expires_in(_ token: OpaquePointer?) -> Int64 {
    borrow(token, as: TokenHandle.self).map { $0.token.secondsLeft ?? -1 } ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_token_generation")
public func tokenkeep_token_generation(_ token: OpaquePointer?) -> UInt64 {
    borrow(token, as: TokenHandle.self)?.token.generation ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_token_is_short")
public func tokenkeep_token_is_short(_ token: OpaquePointer?) -> Int32 {
    borrow(token, as: TokenHandle.self)?.token.isShort == true ? 1 : 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_token_free")
public func tokenkeep_token_free(_ token: OpaquePointer?) {
    consume(token, as: TokenHandle.self)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_service")
public func tokenkeep_session_info_service(_ info: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(info, as: SessionInfoHandle.self)?.service
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_account")
public func tokenkeep_session_info_account(_ info: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(info, as: SessionInfoHandle.self)?.account
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_provider")
public func tokenkeep_session_info_provider(_ info: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(info, as: SessionInfoHandle.self)?.provider
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_scope")
public func tokenkeep_session_info_scope(_ info: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(info, as: SessionInfoHandle.self)?.scope
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_state")
public func tokenkeep_session_info_state(_ info: OpaquePointer?) -> UInt32 {
    borrow(info, as: SessionInfoHandle.self)?.info.state.rawValue ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_reason")
public func tokenkeep_session_info_reason(_ info: OpaquePointer?) -> UInt32 {
    borrow(info, as: SessionInfoHandle.self)?.info.reason.rawValue ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_is_active")
public func tokenkeep_session_info_is_active(_ info: OpaquePointer?) -> Int32 {
    borrow(info, as: SessionInfoHandle.self)?.info.isActive == true ? 1 : 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_can_renew")
public func tokenkeep_session_info_can_renew(_ info: OpaquePointer?) -> Int32 {
    borrow(info, as: SessionInfoHandle.self)?.info.canRenew == true ? 1 : 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_expires_at")
public func tokenkeep_session_info_expires_at(_ info: OpaquePointer?) -> Int64 {
    borrow(info, as: SessionInfoHandle.self)?.info.expiresAt?.rawValue ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_validated_at")
public func tokenkeep_session_info_validated_at(_ info: OpaquePointer?) -> Int64 {
    borrow(info, as: SessionInfoHandle.self)?.info.validatedAt?.rawValue ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_cool_down_until")
public func tokenkeep_session_info_cool_down_until(_ info: OpaquePointer?) -> Int64 {
    borrow(info, as: SessionInfoHandle.self)?.info.coolDownUntil?.rawValue ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_generation")
public func tokenkeep_session_info_generation(_ info: OpaquePointer?) -> UInt64 {
    borrow(info, as: SessionInfoHandle.self)?.info.generation ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_info_free")
public func tokenkeep_session_info_free(_ info: OpaquePointer?) {
    consume(info, as: SessionInfoHandle.self)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_infos_count")
public func tokenkeep_session_infos_count(_ infos: OpaquePointer?) -> Int {
    borrow(infos, as: SessionInfosHandle.self)?.infos.count ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_infos_at")
public func tokenkeep_session_infos_at(_ infos: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let list = borrow(infos, as: SessionInfosHandle.self), list.infos.indices.contains(index) else { return nil }
    return lentToC(list.infos[index])
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_infos_problem")
public func tokenkeep_session_infos_problem(_ infos: OpaquePointer?) -> OpaquePointer? {
    borrow(infos, as: SessionInfosHandle.self)?.problem.map(lentToC)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_infos_free")
public func tokenkeep_session_infos_free(_ infos: OpaquePointer?) {
    consume(infos, as: SessionInfosHandle.self)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_report_count")
public func tokenkeep_session_report_count(_ report: OpaquePointer?) -> Int {
    borrow(report, as: EndReportHandle.self)?.results.count ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_report_name")
public func tokenkeep_session_report_name(_ report: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    guard let report = borrow(report, as: EndReportHandle.self), report.results.indices.contains(index) else {
        return nil
    }
    return report.name(at: index)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_report_result")
public func tokenkeep_session_report_result(_ report: OpaquePointer?, _ index: Int) -> UInt32 {
    guard let report = borrow(report, as: EndReportHandle.self), report.results.indices.contains(index) else {
        return 0
    }
    return report.results[index]
}

/// See session.h.
@implementation @_cdecl("tokenkeep_session_report_free")
public func tokenkeep_session_report_free(_ report: OpaquePointer?) {
    consume(report, as: EndReportHandle.self)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_purpose")
public func tokenkeep_http_request_purpose(_ request: OpaquePointer?) -> UInt32 {
    borrow(request, as: HTTPRequestHandle.self)?.request.purpose.rawValue ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_service")
public func tokenkeep_http_request_service(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(request, as: HTTPRequestHandle.self)?.service
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_account")
public func tokenkeep_http_request_account(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(request, as: HTTPRequestHandle.self)?.account
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_method")
public func tokenkeep_http_request_method(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(request, as: HTTPRequestHandle.self)?.method
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_url")
public func tokenkeep_http_request_url(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrow(request, as: HTTPRequestHandle.self)?.url
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_header_count")
public func tokenkeep_http_request_header_count(_ request: OpaquePointer?) -> Int {
    borrow(request, as: HTTPRequestHandle.self)?.headerCount ?? 0
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_header_at")
public func tokenkeep_http_request_header_at(
    _ request: OpaquePointer?, _ index: Int, _ name: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ value: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Int32 {
    guard let header = borrow(request, as: HTTPRequestHandle.self)?.header(at: index) else { return 0 }
    name?.pointee = header.name
    value?.pointee = header.value
    return 1
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_body")
public func tokenkeep_http_request_body(
    _ request: OpaquePointer?, _ length: UnsafeMutablePointer<Int>?
) -> UnsafeRawPointer? {
    let body = borrow(request, as: HTTPRequestHandle.self)?.request.body
    length?.pointee = body?.count ?? 0
    return body?.unsafeAddress
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_request_token")
public func tokenkeep_http_request_token(
    _ request: OpaquePointer?, _ length: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let token = borrow(request, as: HTTPRequestHandle.self)?.request.token
    length?.pointee = token?.count ?? 0
    return token?.unsafeAddress.assumingMemoryBound(to: CChar.self)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_response_status")
public func tokenkeep_http_response_status(_ response: OpaquePointer?, _ status: UInt32) {
    borrow(response, as: HTTPResponseHandle.self)?.status = Int(status)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_response_header")
public func tokenkeep_http_response_header(
    _ response: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) {
    guard let name = try? Boundary.text(name, "name", atMost: 255),
        let value = try? Boundary.text(value, "value", atMost: 4096)
    else { return }
    borrow(response, as: HTTPResponseHandle.self)?.addHeader(name, value)
}

/// See session.h.
@implementation @_cdecl("tokenkeep_http_response_append")
public func tokenkeep_http_response_append(_ response: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ length: Int) {
    guard let bytes, length > 0 else { return }
    borrow(response, as: HTTPResponseHandle.self)?.append(UnsafeRawBufferPointer(start: bytes, count: length))
}
