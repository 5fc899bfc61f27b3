import Glibc
import TestSupport
import Testing
import TokenKeepCore

/// The directories of a test's own are below a sticky one of root's, which passes.
@Suite struct TrustedPathTests {
    private let directory = TemporaryDirectory()
    private static let asRoot: ConditionTrait = .enabled(if: geteuid() == 0, "only root gives directories away")
    private static let user: UInt32 = 12345
    private static let stranger: UInt32 = 12346

    /// Makes `a/b/c` below the test's directory; returns the path of a name.
    private func path(_ name: String) -> String {
        for folder in ["a", "a/b", "a/b/c"] { mkdir("\(directory.path)/\(folder)", 0o755) }
        return "\(directory.path)/\(name)"
    }

    private func error(_ path: String, user: UInt32? = geteuid()) -> TokenKeepError? {
        do throws(TokenKeepError) {
            try TrustedPath.check(path, user: user)
            return nil
        } catch {
            return error
        }
    }

    @Test func directoriesOfTheUsersOwnPass() {
        #expect(error(path("a/b/c")) == nil)
        #expect(error(path("a/b/c/not/there")) == nil)
        directory.write([], to: "a/b/file", mode: 0o666)
        #expect(error(path("a/b/file")) == nil)  // a file is its reader's to check
        #expect(error("relative")?.status == .invalid)
        #expect(error("relative")?.message == "relative is not absolute")
    }

    @Test func linksAreFollowedSoFar() throws {
        let folder = path("a")
        for number in 1...41 { symlink(number == 41 ? "b" : "link\(number + 1)", "\(folder)/link\(number)") }
        #expect(error(folder + "/link2") == nil)
        #expect(error(folder + "/link1")?.message == "\(folder)/link1 has too many links")
        #expect(
            symlink("b\u{e9}".unicodeScalars.map { CChar(truncatingIfNeeded: $0.value) } + [0], folder + "/odd") == 0)
        #expect(error(folder + "/odd")?.message == "\(folder)/odd leads to a path that is not UTF-8")
    }

    @Test(arguments: ["a", "a/b", "a/b/c"]) func aDirectoryThatOthersWriteToIsRefusedWithTheCommand(name: String) {
        let folder = path(name)
        chmod(folder, 0o757)
        let error = error(path("a/b/c"))
        #expect(error?.status == .denied)
        #expect(error?.message == "others than its owner may write to \(folder)")
        #expect(error?.hint == "chmod go-w '\(folder)'")
        chmod(folder, 0o1777)  // nobody replaces what is another's: but at the end all may add files
        #expect((self.error(path("a/b/c")) == nil) == (name != "a/b/c"))
    }

    @Test func theCommandIsQuotedForAShell() {
        mkdir("\(directory.path)/it's", 0o700)
        chmod("\(directory.path)/it's", 0o777)
        #expect(error("\(directory.path)/it's")?.hint == "chmod go-w '\(directory.path)/it'\\''s'")
    }

    @Test(TrustedPathTests.asRoot, arguments: ["a", "a/b", "a/b/c"])
    func anotherUsersDirectoryIsRefused(name: String) {
        let folder = path(name)
        chown(folder, Self.stranger, 0)
        let error = error(path("a/b/c"), user: Self.user)
        #expect(error?.status == .denied)
        #expect(error?.message.contains("\(folder) belongs to user \(Self.stranger)") == true, "\(error as Any)")
        chmod(folder, 0o1755)
        #expect(self.error(path("a/b/c"), user: Self.user)?.status == .denied)
        chown(folder, Self.user, 0)
        #expect(self.error(path("a/b/c"), user: Self.user) == nil)
        #expect(self.error(path("a/b/c"), user: nil)?.status == .denied)
    }

    @Test(TrustedPathTests.asRoot) func aGroupMayWriteIfRootSaysSoOrItIsTheUsersOwn() {
        chown(path("a/b"), 0, Self.stranger)
        chmod(path("a/b"), 0o775)
        #expect(error(path("a/b/c"), user: Self.user) == nil)
        #expect(error(path("a/b"), user: Self.user)?.status == .denied)
        chown(path("a/b"), Self.user, Self.stranger)
        #expect(error(path("a/b/c"), user: Self.user)?.status == .denied)
        // Debian's user games has the group games, which has no members.
        chown(path("a/b"), 5, 60)
        #expect(error(path("a/b"), user: 5) == nil)
        chown(path("a/b"), 5, 100)
        #expect(error(path("a/b"), user: 5)?.status == .denied)
        // The group of the user nobody is nogroup, which has another name: other users may be in it.
        chown(path("a/b"), 65534, 65534)
        #expect(error(path("a/b"), user: 65534)?.status == .denied)
    }

    @Test func linksAreFollowedAndTheWayToTheirTargetsIsChecked() {
        symlink(path("a/b"), path("link"))
        #expect(error(path("link/c")) == nil)
        symlink("../a/./b", path("a/relative"))
        #expect(error(path("a/relative/c")) == nil)
        chmod(path("a/b"), 0o777)
        #expect(error(path("link/c"))?.status == .denied)
        #expect(error(path("a/relative/c"))?.status == .denied)
        chmod(path("a/b"), 0o755)
        symlink("loop", path("loop"))
        #expect(error(path("loop"))?.status == .denied)
    }

    /// A link in a sticky directory is its maker's to replace.
    @Test(TrustedPathTests.asRoot) func anotherUsersLinkIsRefused() {
        symlink(path("a/b"), path("link"))
        lchown(path("link"), Self.stranger, 0)
        #expect(error(path("link/c"), user: Self.user)?.status == .denied)
    }
}
