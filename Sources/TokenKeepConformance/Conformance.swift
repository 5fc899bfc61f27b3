package import TokenKeepCore

/// What every module must do, whosever it is: the cases of `tokenkeep module check` and of the tests.
///
/// They work in a namespace of their own, and clear what they saved.
package struct Conformance {
    /// What a case came to.
    package enum Outcome: Sendable {
        case passed
        /// And why.
        case failed(String)
        /// And why it says nothing of this module.
        case skipped(String)
    }

    /// What a case found.
    enum Finding: Error {
        case fault(String)
        case notApplicable(String)
    }

    /// One promise of a module.
    struct Case: Sendable {
        let name: String
        let run: @Sendable (ConformanceSubject) throws -> Void
    }

    private let subject: ConformanceSubject

    /// - Parameter keepsMetadata: whether the module says that labels, attributes, levels and dates come back.
    package init(_ module: any Module, keepsMetadata: Bool, timeoutMilliseconds: UInt32 = 5000) {
        subject = ConformanceSubject(
            module, namespace: "tokenkeep-check-\(UInt32.random(in: .min ... .max))", keepsMetadata: keepsMetadata,
            timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Runs every case and tells what it came to, one after the other.
    package func run(_ tell: (String, Outcome) throws -> Void) rethrows {
        for one in ConformanceCases.all {
            let outcome = Conformance.outcome(of: one, subject)
            subject.cleanUp()
            try tell(one.name, outcome)
        }
    }

    private static func outcome(of one: Case, _ subject: ConformanceSubject) -> Outcome {
        do {
            try one.run(subject)
            return .passed
        } catch let finding as Finding {
            switch finding {
            case .fault(let words): return .failed(words)
            case .notApplicable(let words): return .skipped(words)
            }
        } catch {
            return .failed("\(error)")
        }
    }
}
