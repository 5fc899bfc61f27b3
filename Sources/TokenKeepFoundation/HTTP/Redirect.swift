import Foundation
import FoundationNetworking

/// Derives the next request from a redirect (RFC 9110 section 15.4).
enum Redirect {
    /// The maximum number of consecutive redirects. Browsers have the same limit.
    static let limit = 20
    /// Headers that are removed before a request is sent to another origin.
    private static let hidden = ["Authorization", "Proxy-Authorization", "Cookie", SessionClient.deviceHeader]

    /// The next request and its origin; nil if the response is not a redirect or must not be followed.
    ///
    /// A redirect must not be followed from https to http, to a scheme other than these two, or if the next request
    /// needs the body and the body cannot be sent again.
    static func next(
        after response: HTTPURLResponse, to request: URLRequest, at from: HTTPOrigin
    ) -> (request: URLRequest, origin: HTTPOrigin)? {
        guard [301, 302, 303, 307, 308].contains(response.statusCode),
            let location = response.value(forHTTPHeaderField: "Location"),
            let target = URL(string: location, relativeTo: request.url)?.absoluteURL,
            let to = HTTPOrigin(target), to.isEncrypted || !from.isEncrypted
        else { return nil }
        var next = request
        next.url = target
        if becomesGet(response.statusCode, request.httpMethod ?? "GET") {
            next.httpMethod = "GET"
            next.httpBody = nil
            next.httpBodyStream = nil
            for name in ["Content-Type", "Content-Length"] { next.setValue(nil, forHTTPHeaderField: name) }
        } else if request.httpBodyStream != nil {
            return nil
        }
        if to != from { for name in hidden { next.setValue(nil, forHTTPHeaderField: name) } }
        return (next, to)
    }

    private static func becomesGet(_ status: Int, _ method: String) -> Bool {
        switch status {
        case 303: method != "HEAD"
        case 301, 302: method == "POST"
        default: false
        }
    }
}
