import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

extension DeviceCommand {
    /// `tokenkeep device show`.
    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show the device that the vault is bound to, and whether it answers.")

        @OptionGroup
        var options: JSONStoreOptions

        func run(_ store: Store) throws {
            let report = try store.device.report()
            try Terminal.write(options.json ? JSONOutput.text(Object(report)) : Show.text(report))
        }

        private static func text(_ report: DeviceReport) -> String {
            let survey = report.survey
            var lines: [String] = []
            if let device = report.device {
                lines.append("provider: \(device.provider.word)")
                lines.append("state: \(survey.fault.map { "\($0.kind.rawValue): \($0.reason)" } ?? "ready")")
            } else {
                lines.append("provider: none (tokenkeep device choose)")
            }
            if let way = survey.way { lines.append("TPM: \(survey.maker ?? "no answer") (\(Show.words(way)))") }
            let available = survey.available.map(\.word)
            lines.append("available here: \(available.isEmpty ? "none" : available.joined(separator: ", "))")
            if let remedy = survey.fault?.remedy { lines.append("to have its answer: \(remedy)") }
            if survey.fault != nil {
                lines.append("if that device is gone for good: tokenkeep device re-bind --destroy-items")
            }
            if let need = report.device.flatMap(DeviceCommand.needOfFirmware) { lines.append(need) }
            if let loss = Show.loss(report) { lines.append("if the device is lost: \(loss)") }
            return lines.map { Terminal.printable($0) + "\n" }.joined()
        }

        private static func words(_ way: TPMPlaces.Way) -> String {
            switch way {
            case .direct: "asked directly"
            case .helper: "asked through root's helper"
            }
        }

        /// Describes the items that are lost if the device is lost; nil if the vault is bound to no device.
        private static func loss(_ report: DeviceReport) -> String? {
            guard report.device != nil else { return nil }
            let items = "every item of levels this-device-only is lost; the others stay"
            guard report.isRecoverable == false else { return items }
            return items + ". The recovery code opens none of the former: make a new one with tokenkeep recovery create"
        }

        private struct Object: Encodable {
            private let provider, way, state, maker, loss: JSONOutput.Nullable<String>
            private let available: [String]

            init(_ report: DeviceReport) {
                provider = JSONOutput.Nullable(report.device?.provider.word)
                way = JSONOutput.Nullable(report.survey.way?.rawValue)
                state = JSONOutput.Nullable(report.device.map { _ in report.survey.fault?.kind.rawValue ?? "ready" })
                maker = JSONOutput.Nullable(report.survey.maker)
                loss = JSONOutput.Nullable(Show.loss(report))
                available = report.survey.available.map(\.word)
            }
        }
    }
}
