import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

extension AloneTests {
    /// Exports, frame by frame.
    @Suite struct ExportTests {
        private let directory = TemporaryDirectory()
        private let call = CallContext(deadline: Deadline(milliseconds: 600_000))
        private var path: String { "\(directory.path)/export" }
        private static let frame = ExportFrame.prefixLength + AuthenticatedBox.overhead

        private func write(_ items: [String], finishing: Bool = true) throws(TokenKeepError) {
            let derivation = KeyDerivation.argon2id(passes: 1, memoryKiB: 8, salt: RandomBytes.make(16))
            let writer = try ExportWriter(path, passphrase: try SecretBytes("phrase"), by: derivation, call)
            for item in items { try writer.append(try SecretBytes(item)) }
            if finishing { try writer.finish() }
        }

        private func open(_ passphrase: String = "phrase") throws(TokenKeepError) -> ExportReader {
            try ExportReader(path, passphrase: try SecretBytes(passphrase), call)
        }

        private func read() throws(TokenKeepError) -> [String] {
            var items: [String] = []
            try open().forEachItem(call) { items.append($0.utf8String ?? "") }
            return items
        }

        private func change(_ change: (inout [UInt8]) -> Void) {
            var bytes = directory.read("export") ?? []
            change(&bytes)
            directory.write(bytes, to: "export")
        }

        private func status(_ body: () throws(TokenKeepError) -> Void) -> Status {
            do throws(TokenKeepError) {
                try body()
                return .ok
            } catch {
                return error.status
            }
        }

        private var reading: Status { status { () throws(TokenKeepError) in _ = try read() } }

        @Test func whatWasWrittenIsReadInOrder() throws {
            let items = ["one", "", String(repeating: "x", count: 1 << 20), "four"]
            try write(items)
            #expect(try read() == items)
            var information = stat()
            #expect(stat(path, &information) == 0 && information.st_mode & 0o777 == 0o600)
            let reader = try open()
            for _ in 1...2 { #expect(try reader.forEachItem(call) { _ in } == 4) }
            #expect(status { () throws(TokenKeepError) in try write([]) } == .duplicate)
            #expect(try read() == items)
        }

        @Test func aWriterThatIsNotFinishedLeavesNoFile() throws {
            try write(["one"], finishing: false)
            #expect(directory.names() == [])
            let cancellation = Cancellation()
            cancellation.cancel()
            let cancelled = CallContext(deadline: .patient.cancelled(by: cancellation))
            #expect(throws: TokenKeepError(.cancelled, "")) {
                try ExportWriter(path, passphrase: SecretBytes("phrase"), cancelled)
            }
            #expect(directory.names() == [])
            // A file that took its name stays.
            let writer = try ExportWriter(path, passphrase: SecretBytes("phrase"), call)
            unlink(path)
            directory.write([1], to: "export")
            withExtendedLifetime(writer) {}
            #expect(directory.read("export") == [1])
        }

        @Test func anotherPassphraseIsDenied() throws {
            try write(["one"])
            #expect(status { () throws(TokenKeepError) in _ = try open("other") } == .denied)
            change { $0[87] ^= 1 }  // the commitment
            #expect(reading == .denied)
        }

        @Test func aLaterVersionIsUnsupportedAndAnotherFileIsCorrupt() throws {
            try write(["one"])
            change { $0[8] = 2 }
            #expect(reading == .unsupported)
            change { $0 = Array($0[..<10]) }
            #expect(reading == .unsupported)
            change { $0[0] = 0 }
            #expect(reading == .corrupt)
            // A path that names no export is wrong usage.
            unlink(path)
            #expect(reading == .invalid)
            mkfifo(path, 0o600)
            #expect(reading == .invalid)
        }

        @Test func aCutFileIsCorruptWhereverItIsCut() throws {
            try write(["one", "two"])
            let whole = try #require(directory.read("export"))
            for length in 0..<whole.count {
                change { $0 = Array(whole[..<length]) }
                #expect(reading == .corrupt, "\(length)")
            }
            change { $0 = whole + [0] }
            #expect(reading == .corrupt)
        }

        @Test func aChangedByteIsFoundWhereverItStands() throws {
            try write(["one", "two"])
            let whole = try #require(directory.read("export"))
            // The salt and the commitment make it another passphrase. The costs are not tried: they may take a second.
            for place in Array(0..<20) + Array(28..<whole.count) {
                change {
                    $0 = whole
                    $0[place] ^= 2
                }
                let expected: Set<Status> =
                    switch place {
                    case 8, 9: [.unsupported]
                    case 28..<44, 56..<88: [.denied]
                    default: [.corrupt]
                    }
                #expect(expected.contains(reading), "\(place)")
            }
        }

        @Test func swappedAndMissingFramesAreCorrupt() throws {
            try write(["one", "two"])
            let whole = try #require(directory.read("export"))
            let head = whole[..<ExportHead.length]
            let length = ExportTests.frame + 3
            let first = whole[ExportHead.length..<ExportHead.length + length]
            let second = whole[ExportHead.length + length..<ExportHead.length + 2 * length]
            let end = whole[(ExportHead.length + 2 * length)...]
            for frames in [
                second + first + end, first + end, second + end, first + first + end, first + second, end + first,
                first + second + end + end,
            ] {
                change { $0 = Array(head + frames) }
                #expect(reading == .corrupt)
            }
            change { $0 = Array(head + first + second + end) }
            #expect(reading == .ok)
        }

        @Test func aFrameLongerThanAnItemMayBeIsNotRead() throws {
            try write([])
            change { $0.replaceSubrange(ExportHead.length..<ExportHead.length + 4, with: [255, 255, 255, 255]) }
            #expect(reading == .corrupt)
        }

        @Test func aFileThatChangesBetweenReadingsIsCorrupt() throws {
            try write((1...2000).map { "item \($0)" })
            let reader = try open()
            try reader.forEachItem(call) { _ in }
            var seen = 0
            #expect(throws: TokenKeepError(.corrupt, "")) {
                try reader.forEachItem(call) { _ in
                    seen += 1
                    // The same file, behind the bytes that are in memory.
                    if seen == 1 { truncate(path, 100_000) }
                }
            }
            #expect(seen > 1 && seen < 2000)
        }

        @Test func aReadingEndsAtItsDeadlineAndAtTheFirstErrorOfItsCaller() throws {
            try write(["one", "two"])
            let reader = try open()
            #expect(throws: TokenKeepError(.timedOut, "")) { try reader.forEachItem(.passed) { _ in } }
            var seen = 0
            #expect(throws: TokenKeepError(.busy, "")) {
                try reader.forEachItem(call) { _ throws(TokenKeepError) in
                    seen += 1
                    throw TokenKeepError(.busy, "")
                }
            }
            #expect(seen == 1)
        }

        @Test(.enabled(if: ResidentMemory.isMeasurable))
        func theMemoryOfAHundredThousandItemsIsThatOfOne() throws {
            try write(["warm up"])
            #expect(try read() == ["warm up"])
            unlink(path)
            let before = ResidentMemory.kib
            let derivation = KeyDerivation.argon2id(passes: 1, memoryKiB: 8, salt: RandomBytes.make(16))
            let writer = try ExportWriter(path, passphrase: SecretBytes("phrase"), by: derivation, call)
            for number in 1...100_000 {
                try writer.append(SecretBytes("item \(number)" + String(repeating: "x", count: 400)))
            }
            try writer.finish()
            let reader = try open()
            for _ in 1...2 { #expect(try reader.forEachItem(call) { _ in } == 100_000) }
            // The file has 45 MB.
            #expect(ResidentMemory.kib < before + 20_000)
        }
    }
}
