import Glibc
import Testing
import TokenKeepCore

@testable import TokenKeepEngine

@Suite struct StackFileTests {
    private func modules(_ stack: Stack) -> [String] { stack.lines.map(\.module) }

    private func expect(
        _ words: String, _ status: Status = .invalid, _ body: () throws -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(sourceLocation: sourceLocation) {
            try body()
        } throws: { error in
            let error = error as? TokenKeepError
            if error?.message.contains(words) != true { print("message: \(error?.message ?? "none")") }
            return error?.status == status && error?.message.contains(words) == true
        }
    }

    @Test func theUsersFileComesBeforeTheSystems() throws {
        let directory = StackDirectory(
            ["both": "any required user\n", "default": "any required mine\n"],
            system: ["both": "any required system\n", "theirs": "any required other\n"])
        let both = try directory.stack(named: "both")
        #expect(modules(both) == ["user"])
        #expect(both.source == directory.path + "/user/both.conf")
        #expect(try modules(directory.stack(named: "theirs")) == ["other"])
        #expect(try modules(directory.stack(named: "default")) == ["mine"])
        expect("there is no stack \"none\"") { _ = try directory.stack(named: "none") }
    }

    @Test func theDefaultIsBuiltInAndShipped() throws {
        let stack = try Stack(name: "default", directories: .none)
        #expect(stack.source == "built-in default")
        #expect(stack.lines == (try StackParser.parse(StackParser.builtInDefault, source: stack.source)))
        let shipped = try #require(
            try ConfigurationFile.shipped("default.conf"), "the example must be readable and safe like any other")
        #expect(shipped == StackParser.builtInDefault)
    }

    @Test(arguments: [
        "", ".", ".hidden", "a/b", "../x", "Big", "sp ace", "ä", "a\nb", String(repeating: "a", count: 65),
    ])
    func refusesNames(name: String) {
        expect("cannot be one of a stack") { _ = try Stack(name: name, directories: .none) }
    }

    @Test(arguments: ["a", "a.b", "0_-", String(repeating: "a", count: 64)])
    func takesNames(name: String) throws {
        #expect(try modules(StackDirectory([name: "any required vault"]).stack(named: name)) == ["vault"])
    }

    @Test func filesAreUntrusted() throws {
        let directory = StackDirectory()
        func write(_ text: String, mode: mode_t) { directory.write(text, to: "user/a.conf", mode: mode) }
        write("any required vault\n", mode: 0o644)
        #expect(try modules(directory.stack(named: "a")) == ["vault"])
        for mode: mode_t in [0o620, 0o602, 0o666] {
            write("any required vault\n", mode: mode)
            expect("expected a file that only its owner may write") { _ = try directory.stack(named: "a") }
        }
        write(String(repeating: "#", count: 65_536) + "\n", mode: 0o600)
        expect("a.conf: expected at most 65536 bytes") { _ = try directory.stack(named: "a") }
        write(String(repeating: "#", count: 65_535), mode: 0o600)
        expect("a.conf names no module") { _ = try directory.stack(named: "a") }
        directory.write([0x61, 0xFF, 0x0A], to: "user/a.conf")
        expect("a.conf: expected UTF-8") { _ = try directory.stack(named: "a") }
    }

    /// A user who may write to the directory could replace a file in it, even one that only its owner may write.
    @Test(arguments: [0o770, 0o702, 0o1777] as [mode_t]) func directoriesAreUntrusted(mode: mode_t) throws {
        guard mode != 0o770 || geteuid() == 0 else { return }  // the members of this group are unknown
        for place in ["user", "system"] {
            let directory = StackDirectory(["a": "any required vault\n"], system: ["b": "any required vault\n"])
            let folder = "\(directory.path)/\(place)"
            if mode == 0o770 { chown(folder, 0, 12345) }
            chmod(folder, mode)
            for name in [place == "user" ? "a" : "b", "default"] { expectDenied(folder, directory, name) }
            chmod(folder, 0o755)
            _ = try directory.stack(named: "default")
        }
    }

    /// A user who may write to a directory above could replace `stack.d`.
    @Test func aDirectoryAboveIsCheckedToo() throws {
        let directory = StackDirectory(["a": "any required vault\n"])
        chmod(directory.path, 0o707)
        expectDenied(directory.path, directory, "a")
        chmod(directory.path, 0o755)
        _ = try directory.stack(named: "a")
    }

    private func expectDenied(_ folder: String, _ directory: StackDirectory, _ name: String) {
        do throws(TokenKeepError) {
            _ = try directory.stack(named: name)
            Issue.record("the stack is read")
        } catch {
            #expect(error.status == .denied && error.message.contains(folder), "\(error)")
            #expect(error.hint == "chmod go-w '\(folder)'")
        }
    }

    /// Opening never blocks, whatever kind of file has the name.
    @Test func onlyRegularFilesAreRead() throws {
        let directory = StackDirectory(["x": ""])
        let path = directory.path + "/user/"
        mkfifo(path + "pipe.conf", 0o600)
        expect("expected a regular file") { _ = try directory.stack(named: "pipe") }
        mkdir(path + "folder.conf", 0o700)
        expect("expected a regular file") { _ = try directory.stack(named: "folder") }
        symlink("loop.conf", path + "loop.conf")
        expect("loop.conf cannot be read", .io) { _ = try directory.stack(named: "loop") }
        directory.write("any required vault", to: "elsewhere")
        symlink("../elsewhere", path + "linked.conf")
        #expect(try modules(directory.stack(named: "linked")) == ["vault"])
    }

    @Test(.enabled(if: geteuid() == 0)) func onlyTheUserAndRootOwnThem() throws {
        let directory = StackDirectory(["a": "any required vault\n"])
        chown(directory.path + "/user/a.conf", 12_345, 0)
        expect("its owner is user 12345") { _ = try directory.stack(named: "a") }
    }

    // MARK: Stacks that include others

    @Test func includedLinesStandInTheirPlace() throws {
        let directory = StackDirectory(
            ["inner": "any required b\nsave required c\n"], system: ["deep": "include inner\nload optional d\n"])
        let stack = try directory.stack("any required a\nload include deep\nany substack inner\n")
        #expect(modules(stack) == ["a", "b", "d", "b", "c"])
        // A line that is included for one operation applies only to this operation.
        #expect(stack.lines.map(\.operation) == [.any, .load, .load, .any, .save])
        #expect(stack.lines[1].place.description == directory.path + "/user/inner.conf:1")
        expect("test:1: expected a stack that exists") { _ = try directory.stack("include nowhere") }
        expect("inner.conf:1: expected an operation") {
            _ = try StackDirectory(["inner": "x"]).stack("\nany substack inner")
        }
    }

    @Test func circlesAndDepthsAreRefused() throws {
        let circle = StackDirectory(["a": "any required x\ninclude b", "b": "substack c", "c": "load include a"])
        expect("c.conf:1: expected no stack that includes itself: a -> b -> c -> a") {
            _ = try circle.stack(named: "a")
        }
        var files = ["s16": "any required deep"]
        for depth in 0..<16 { files["s\(depth)"] = "include s\(depth + 1)" }
        #expect(try modules(StackDirectory(files).stack(named: "s0")) == ["deep"])
        files["s16"] = "substack s17"
        files["s17"] = "any required deeper"
        expect("expected stacks at most 16 deep: s0 -> s1") { _ = try StackDirectory(files).stack(named: "s0") }
    }

    /// Sixteen levels of files that each include the next file ten times would give 10^16 lines.
    @Test func theNumberOfLinesIsBounded() throws {
        var files = ["s16": "any required x"]
        for depth in 0..<16 {
            files["s\(depth)"] = String(repeating: "include s\(depth + 1)\n", count: 10)
        }
        expect("expected at most 1024 lines in all") { _ = try StackDirectory(files).stack(named: "s0") }
    }

    @Test func aStoreReadsItsStackFromTheFile() throws {
        let directory = StackDirectory(
            ["work": "any required memory"], system: ["bad": "any required vault\n-any x y\n"])
        var configuration = StoreConfiguration(stack: "work")
        configuration.stackDirectories = .fixed(user: directory.path + "/user", system: directory.path + "/system")
        #expect(try Store(configuration).status().modules.map(\.module) == ["memory"])
        configuration.stack = "bad"
        let bad = configuration
        expect("system/bad.conf:2: expected a control") { _ = try Store(bad) }
    }

    /// A missing module is skipped if its line begins with `-`. Any other error of such a line is reported.
    @Test func modulesThatMayBeMissing() throws {
        func open(_ text: String) throws -> [String] {
            var configuration = StoreConfiguration(stackText: text)
            configuration.stackDirectories = .none
            return try Store(configuration).status().modules.map(\.module)
        }
        #expect(try open("-any [not_found=1] nowhere\nany required memory") == ["memory"])
        expect("stack_text:1: there is no module \"nowhere\"") { _ = try open("any required nowhere") }
        expect("stack_text:1: the module memory takes no argument") { _ = try open("-any required memory x=1") }
        expect("expected no control character") { _ = try open("any required memory [x\ry\tz]") }
        expect("stack_text:2: expected the arguments of secret-service as in stack_text:1") {
            _ = try open("load required secret-service timeout=1s\nsave required secret-service timeout=2s")
        }
        #expect(
            try open("load required secret-service timeout=1s\nany required memory\nsave required secret-service").count
                == 2)
        // A number without a unit is seconds.
        #expect(try open("any required secret-service timeout=5") == ["secret-service"])
    }
}

extension ConfigurationFile {
    /// The text of a file that is installed as an example; nil if there is none.
    fileprivate static func shipped(_ name: String) throws(TokenKeepError) -> String? {
        let here = "\(#filePath)".split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        return try ConfigurationFile(path: "\(here)/data/stack.d/\(name)")?.text
    }
}
