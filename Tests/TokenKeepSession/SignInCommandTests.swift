import Testing
import TokenKeepCore

@testable import TokenKeepSession

/// The command that a user is told to type signs the account in.
@Suite struct SignInCommandTests {
    private let ann = Result { try ItemName(service: "api.example.com", account: "ann@example.com") }

    @Test func aSessionOfAProviderIsSignedInThere() throws {
        #expect(
            try SignInCommand.text(ann.get(), provider: "github")
                == "tokenkeep session login api.example.com ann@example.com --provider github")
    }

    @Test(arguments: [nil, ""]) func aSessionWithoutAProviderIsBegun(provider: String?) throws {
        #expect(
            try SignInCommand.text(ann.get(), provider: provider)
                == "tokenkeep session begin api.example.com ann@example.com")
    }

    @Test func theShellChangesNoWord() throws {
        let name = try ItemName(namespace: "a;b", service: "a $b", account: "o'neil")
        #expect(
            SignInCommand.text(name, provider: "my idp")
                == #"tokenkeep session login 'a $b' 'o'\''neil' --provider 'my idp' --namespace 'a;b'"#)
    }

    @Test func aQuoteWithACombiningMarkDoesNotEndTheWord() throws {
        let name = try ItemName(service: "a", account: "o'\u{301}; id #")
        #expect(
            Array(SignInCommand.text(name, provider: nil).utf8)
                == Array("tokenkeep session begin a 'o'\\''\u{301}; id #'".utf8))
    }
}
