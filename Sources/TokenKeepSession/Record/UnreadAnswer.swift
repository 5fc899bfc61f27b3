import TokenKeepCore

/// An unread answer: a server's answer that may contain tokens and could not be parsed. The record keeps its bytes
/// until the next tokens arrive, so that a later version of TokenKeep can parse them.
extension SessionRecord {
    static let unreadMember = "unread"
    /// The maximum length of an unread answer, in bytes. A longer answer is most likely a web page.
    private static let longestUnread = 98_304

    /// Stores an unread answer in the record, as base64.
    ///
    /// - Returns: false, without a change, if the answer or the resulting record would be too long.
    func keep(unread answer: SecretBytes) throws(TokenKeepError) -> Bool {
        guard answer.count <= SessionRecord.longestUnread else { return false }
        let text = try answer.withUnsafeBytes { bytes throws(TokenKeepError) in try Base64Text.encoded(bytes) }
        try json.set(SessionRecord.unreadMember, text)
        guard try isTooLong() else { return true }
        json.remove(SessionRecord.unreadMember)
        return false
    }
}
