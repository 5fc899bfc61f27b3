/// A line of a watch's answer.
package enum EtcdWatchLine: Equatable {
    /// The server has taken a watch, or says that it is there, or repeats what is listed already.
    case nothing(isCreated: Bool)
    /// Keys changed.
    case changed(isCreated: Bool)
    /// The watch has ended, for the reason in the server's words.
    case ended(String)

    /// - Parameter revision: that of the list. The watch begins there, so that what is in the list comes again.
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
