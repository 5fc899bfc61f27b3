package import TokenKeepCore

/// The cases that every module must pass, for `tokenkeep module check` and for the tests.
///
/// The cases use a separate namespace, and clear the items that they have saved.
package struct Conformance {
    /// The result of a case.
    package enum Outcome: Sendable {
        case passed
        /// The case failed. The text is the reason.
        case failed(String)
        /// The case does not apply to this module. The text is the reason.
        case skipped(String)
    }

    /// The reason why a case ended early.
    enum Finding: Error {
        case fault(String)
        case notApplicable(String)
    }

    /// A test of one property that every module must have.
    struct Case: Sendable {
        let name: String
        let run: @Sendable (ConformanceSubject) throws -> Void
    }

    private let subject: ConformanceSubject

    /// - Parameter keepsMetadata: whether the module reports that it returns labels, attributes, levels and dates as
    ///   saved.
    package init(_ module: any Module, keepsMetadata: Bool, timeoutMilliseconds: UInt32 = 5000) {
        subject = ConformanceSubject(
            module, namespace: "tokenkeep-check-\(UInt32.random(in: .min ... .max))", keepsMetadata: keepsMetadata,
            timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Runs all cases, and calls `tell` with the name and the result of each.
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
