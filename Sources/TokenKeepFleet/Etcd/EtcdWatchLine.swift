/// The meaning of one line of a watch's stream.
package enum EtcdWatchLine: Equatable {
    /// No new change: the server confirmed a watch, reported progress, or repeated changes that the listing contains.
    case nothing(isCreated: Bool)
    /// Keys changed.
    case changed(isCreated: Bool)
    /// The watch has ended. The value is the server's reason.
    case ended(String)

    /// Parses a line of the stream.
    ///
    /// - Parameter revision: the revision of the listing. The watch begins at this revision, so the server repeats
    ///   changes that the listing contains.
    package init(_ line: UnsafeRawBufferPointer, after revision: Int64) {
        guard line.contains(where: { $0 > 0x20 }) else {
            self = .nothing(isCreated: false)
            return
        }
        guard let json = WireValue(parsing: line), let result = json["result"] else {
            self = .ended(EtcdAnswers.message(line))
            return
        }
        if result["canceled"]?.isTrue == true {
            let reason = result["cancel_reason"]?.text ?? "the revision is gone"
            self = .ended(EtcdAnswers.printable(reason.utf8))
            return
        }
        let isCreated = result["created"]?.isTrue == true
        let events = result["events"]?.elements ?? []
        let isNew = events.contains { ($0["kv"]?["mod_revision"]?.integer ?? .max) > revision }
        self = isNew ? .changed(isCreated: isCreated) : .nothing(isCreated: isCreated)
    }
}
