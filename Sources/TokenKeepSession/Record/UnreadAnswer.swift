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
        let text = try answer.withUnsafeBytes { bytes throws(TokenKeepError) in try Base64Text.encoded(bytes) }
        try json.set(SessionRecord.unreadMember, text)
        guard try isTooLong() else { return true }
        json.remove(SessionRecord.unreadMember)
        return false
    }
}
