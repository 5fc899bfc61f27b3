import TokenKeepCore
import TokenKeepEngine

/// Lines of text about pending writes and removals, for a person.
///
/// Each module has one line for this machine and one line for all other machines.
enum PendingText {
    static func lines(_ report: PendingReport) -> [String] {
        var lines: [String] = []
        for isHere in [true, false] {
            let entries = report.entries.filter { $0.isOfThisMachine == isHere }
            for module in Set(entries.map(\.module)).sorted() {
                let pending = entries.filter { $0.module == module }
                lines.append(line(pending, to: module + (isHere ? "" : " on another machine")))
                if !isHere {
                    lines.append("  hint: if that machine is gone: tokenkeep forget \(module) --every-machine")
                }
            }
        }
        return lines
    }

    private static func line(_ pending: [PendingReport.Entry], to whom: String) -> String {
        let since = pending.map(\.since).min()?.iso8601 ?? "unknown"
        return "pending for \(whom): \(counts(pending)), since \(since)"
    }

    /// Counts pending changes in words, for example `2 items, 1 removal, 1 service to be removed`.
    static func counts(_ pending: [PendingReport.Entry]) -> String {
        let items = pending.count { !$0.isRemoval }
        let services = pending.count { $0.isOfService }
        let removals = pending.count { $0.isRemoval } - services
        return [
            items > 0 ? CountedNouns.items(items) : nil, removals > 0 ? CountedNouns.removals(removals) : nil,
            services > 0 ? CountedNouns.serviceRemovals(services) : nil,
        ].compactMap { $0 }.joined(separator: ", ")
    }
}
