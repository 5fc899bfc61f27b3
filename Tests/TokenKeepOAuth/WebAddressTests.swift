import Testing
import TokenKeepCore
import TokenKeepOAuth

@Suite struct WebAddressTests {
    @Test(arguments: [
        "https://example.com", "https://example.com:8443/a?b=c", "http://127.0.0.1:80/x", "http://[::1]/",
        "https://[2001:db8::1]:443/token",
    ])
    func anAddressOfAServerIsRead(text: String) throws { #expect(try WebAddress(text).text == text) }

    @Test(arguments: [
        "", "https://", "example.com", "ftp://example.com", "http://example.com", "http://localhost/",
        "http://127.0.0.1.example.com/", "http://127.0.0.2/", "https://user@example.com/", "https://a b.com/",
        "https://example.com/#x", "https://example.com:0/", "https://example.com:99999/", "https://exämple.com/",
        "https://example.com\\@evil/", "http://[::2]/", "http://127.0.0.1@evil.com/", "https://.x/", "https://[]/",
    ])
    func anotherAddressIsRefused(text: String) {
        #expect(throws: TokenKeepError(.invalid, "")) { try WebAddress(text) }
    }

    @Test func originAndPathAreDivided() throws {
        let address = try WebAddress("https://example.com:8443/a?b=c")
        #expect(address.origin == "https://example.com:8443")
        #expect(address.path == "/a?b=c")
    }
}
