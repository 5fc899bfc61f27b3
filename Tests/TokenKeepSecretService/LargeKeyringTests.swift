import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// The real gnome-keyring with many items, which it reads from its file: saving them one by one takes minutes.
@Suite struct LargeKeyringTests {
    private static let count = 2000

    /// A keyring without a password as its file holds it: half of the items ours, half another program's.
    private static func keyring() -> String {
        (1...count).map { number in
            let account = "account \(number)"
            let isOurs = number % 2 == 0
            var attributes = [("service", "example.com"), ("username", account)]
            if isOurs {
                attributes += [
                    ("xdg:schema", "org.tokenkeep.Item"), ("tokenkeep:namespace", ""),
                    ("tokenkeep:access", "after-first-unlock"),
                ]
            }
            let lines = attributes.enumerated().map { index, pair in
                "[\(number):attribute\(index)]\nname=\(pair.0)\ntype=string\nvalue=\(pair.1)\n"
            }
            return "[\(number)]\nitem-type=0\ndisplay-name=example.com (\(account))\nsecret=token \(number)\n"
                + "mtime=1000\nctime=1000\n" + lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    @Test func holdsTwoThousandItems() throws {
        let keyring = try PrivateKeyring(password: nil, content: LargeKeyringTests.keyring())
        // It takes two seconds to list a thousand, more where the machine is busy.
        let client = try ServiceClient(keyring.bus)
        #expect(try client.load("example.com", "account 1000") == "token 1000")
        #expect(try client.load("example.com", "account 1000") == "token 1000", "with a known path")
        #expect(try client.load("example.com", "account 999") == "token 999", "another program's")
        #expect(status { _ = try client.load("example.com", "account 2001") } == .notFound)
        #expect(try client.list().count == LargeKeyringTests.count / 2)
        #expect(try client.list("example.com").count == LargeKeyringTests.count / 2)
        #expect(try client.list("example.org").isEmpty)
        try client.save("example.com", "account 500", "new")
        #expect(try client.clear("example.com", "account 1000"))
        #expect(status { _ = try client.load("example.com", "account 1000") } == .notFound)
        #expect(try client.list().count == LargeKeyringTests.count / 2 - 1)
        try keyring.restart()
        #expect(try client.load("example.com", "account 500") == "new")
        #expect(status { _ = try client.load("example.com", "account 1000") } == .notFound)
        #expect(try client.load("example.com", "account 2000") == "token 2000")
    }
}
