import CSodium
import TokenKeepCore

/// An answer that may have tokens and could not be read. The record keeps its bytes until the next tokens, so that a later
/// version can read them.
extension SessionRecord {
    static let unreadMember = "unread"
    /// A longer answer is a page. In bytes.
    private static let longestUnread = 98_304

    /// Keeps an answer, as base64.
    ///
    /// - Returns: false if it is too long, or the record would be; nothing has changed then.
    func keep(unread answer: SecretBytes) throws(TokenKeepError) -> Bool {
        guard answer.count <= SessionRecord.longestUnread else { return false }
        let length = sodium_base64_encoded_len(answer.count, sodium_base64_VARIANT_ORIGINAL)
        let text = try SecretBytes(count: length - 1) { text in
            guard let start = text.bindMemory(to: CChar.self).baseAddress else { return }
            // A NUL follows the bytes of a secret: there is room for the terminator.
            _ = sodium_bin2base64(
                start, length, answer.unsafeAddress.assumingMemoryBound(to: UInt8.self), answer.count,
                sodium_base64_VARIANT_ORIGINAL)
        }
        try json.set(SessionRecord.unreadMember, text)
        guard try isTooLong() else { return true }
        json.remove(SessionRecord.unreadMember)
        return false
    }
}
