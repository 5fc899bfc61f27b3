import Foundation
import TestSupport
import Testing

@testable import TokenKeepKeys

extension AloneTests {
    /// No core dump holds anything of a derivation.
    @Suite struct DerivationCoreTests {
        private static let passes: UInt32 = 8
        private static let memoryKiB: UInt32 = 131_072

        private let directory = TemporaryDirectory()
        private let password = Array("correct horse battery staple 32b".utf8)
        private let salt = Array("salt of 16 bytes".utf8)
        private var derived: [UInt8] { Libsodium.argon2id(password, salt, Self.passes, Self.memoryKiB) }
        private var block: [UInt8] {
            Argon2Block.first(password: password, salt: salt, passes: Self.passes, memoryKiB: Self.memoryKiB)
        }

        @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/gdb")))
        func aCoreHoldsNoPasswordKeyOrBlock() throws {
            let program = try DerivationProgram("derive")
            let child = try ChildProcess(
                program.path, ["\(Self.passes)", "\(Self.memoryKiB)"], environment: [:],
                input: String(decoding: password + salt, as: UTF8.self))
            #expect(try child.firstLine() == "deriving")
            try takeCores(of: child)
            // A core with the excluded mappings proves that the search finds what is there.
            #expect(holds(password, "memory"))
            #expect(holds(block, "memory"))
            #expect(!holds(password, "core"))
            #expect(!holds(block, "core"))
            child.signal(SIGCONT)
            #expect(try child.firstLine() == "derived")
            try takeCores(of: child)
            let derived = derived
            for secret in [password, block, derived, Array(derived[..<32]), Array(derived[32...])] {
                #expect(!holds(secret, "memory"))
            }
        }

        /// Takes a core as the kernel would write it, and one of all memory.
        private func takeCores(of child: ChildProcess) throws {
            let (output, status) = try ChildProcess.run(
                "/usr/bin/gdb",
                [
                    "-batch", "-p", "\(child.identifier)", "-ex", "generate-core-file \(directory.path)/core", "-ex",
                    "set use-coredump-filter off", "-ex", "set dump-excluded-mappings on", "-ex",
                    "generate-core-file \(directory.path)/memory",
                ], environment: [:])
            try #require(status == 0, "\(output)")
        }

        private func holds(_ bytes: [UInt8], _ name: String) -> Bool {
            let file = open("\(directory.path)/\(name)", O_RDONLY)
            defer { close(file) }
            let length = Int(lseek(file, 0, SEEK_END))
            guard length > 0, let base = mmap(nil, length, PROT_READ, MAP_PRIVATE, file, 0), base != MAP_FAILED else {
                Issue.record("\(name) cannot be read")
                return true
            }
            defer { munmap(base, length) }
            var rest = UnsafeRawBufferPointer(start: base, count: length)
            while let start = rest.baseAddress, let found = memchr(start, Int32(bytes[0]), rest.count) {
                rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(found) - start)...])
                if rest.count >= bytes.count && memcmp(found, bytes, bytes.count) == 0 { return true }
                rest = UnsafeRawBufferPointer(rebasing: rest[1...])
            }
            return false
        }
    }
}
