import Glibc
import TokenKeepCore
internal import TokenKeepHeaders

/// Passes strings as an array of C strings that ends with NULL.
enum CStringArray {
    static func lend<Result>(
        _ strings: [String], _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer(body)
    }
}

extension ItemName {
    /// Calls `body` with the name's three parts as C strings.
    func withCStrings<Result>(
        _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>) -> Result
    ) -> Result {
        namespace.withCString { namespace in
            service.withCString { service in account.withCString { body(namespace, service, $0) } }
        }
    }
}

extension TokenItem {
    /// Calls `body` with the item as the structure that a module's functions expect.
    func withModuleItem(
        _ body: (UnsafePointer<tokenkeep_module_item>) -> tokenkeep_status
    ) -> tokenkeep_status {
        let texts = details.attributes.pairs.flatMap { [$0.name, $0.value] }
        return CStringArray.lend([details.label] + texts) { strings in
            let attributes = details.attributes.pairs.indices.map {
                tokenkeep_attribute(name: strings[1 + 2 * $0], value: strings[2 + 2 * $0])
            }
            return attributes.withUnsafeBufferPointer { attributes in
                details.name.withCStrings { namespace, service, account in
                    var item = tokenkeep_module_item()
                    item.struct_size = MemoryLayout<tokenkeep_module_item>.size
                    item.name_space = namespace
                    item.service = service
                    item.account = account
                    item.label = strings[0]
                    item.secret = secret.unsafeAddress
                    item.secret_length = secret.count
                    item.accessibility = details.accessLevel.rawValue
                    item.flags = details.flags.rawValue
                    item.created_at = details.createdAt?.rawValue ?? 0
                    item.modified_at = details.modifiedAt?.rawValue ?? 0
                    item.expires_at = details.expiresAt?.rawValue ?? 0
                    item.attributes = attributes.isEmpty ? nil : attributes.baseAddress
                    item.attribute_count = attributes.count
                    return withExtendedLifetime(secret) { withUnsafePointer(to: item, body) }
                }
            }
        }
    }
}
