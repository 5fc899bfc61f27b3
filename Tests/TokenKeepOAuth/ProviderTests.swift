import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepOAuth
import TokenKeepSession

@Suite struct ProviderTests {
    private let directory = TemporaryDirectory(inMemory: true)

    private var files: ProviderFiles {
        ProviderFiles(directories: ["user", "system", "installed"].map { "\(directory.path)/\($0)" })
    }

    @discardableResult
    private func write(_ text: String, _ name: String, in place: String = "user", mode: Int = 0o644) throws -> String {
        let folder = "\(directory.path)/\(place)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let path = "\(folder)/\(name).conf"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func fault(of text: String) throws -> TokenKeepError? {
        try write(text, "wrong")
        do throws(TokenKeepError) {
            _ = try files.provider(named: "wrong")
            return nil
        } catch {
            return error
        }
    }

    @Test func valuesAreReadWithTheirPlaces() throws {
        let path = try write("# an example\n\n client_id =  a b \r\nrotation=overlap 30\n", "example")
        let provider = try #require(try files.provider(named: "example"))
        #expect(provider[.clientID] == "a b")
        #expect(provider.values[.clientID]?.place == "\(path):3")
        #expect(provider.rotation == .overlap(seconds: 30))
        #expect(provider[.issuer] == nil)
    }

    @Test func parametersOfTheRequestAreReadAndIncluded() throws {
        try write("parameter prompt = login\nparameter access_type = offline\n", "base", in: "installed")
        try write("include = base\nparameter\tprompt =  select_account \n", "example")
        let provider = try #require(try files.provider(named: "example"))
        #expect(provider.parameters.mapValues(\.text) == ["prompt": "select_account", "access_type": "offline"])
        #expect(provider.parameters["prompt"]?.place.hasSuffix("user/example.conf:2") == true)
    }

    @Test func theUsersFileHidesTheInstalledOneAndMayAddToIt() throws {
        try write("token_endpoint = https://a.example/t\nscope = read\n", "example", in: "installed")
        try write("include = example\nscope = write\n", "example")
        let provider = try #require(try files.provider(named: "example"))
        #expect(provider[.tokenEndpoint] == "https://a.example/t")
        #expect(provider[.scope] == "write")
        #expect(files.names == ["example"])
    }

    @Test func theSystemsFileDoesNotIncludeTheUsers() throws {
        try write("token_endpoint = https://evil.example/t\n", "base")
        try write("include = base\n", "example", in: "system")
        try write("token_endpoint = https://good.example/t\n", "base", in: "installed")
        #expect(try files.provider(named: "example")?[.tokenEndpoint] == "https://good.example/t")
    }

    @Test func filesThatIncludeEachOtherAreRefused() throws {
        try write("include = b\n", "a")
        try write("include = a\n", "b")
        #expect(throws: TokenKeepError(.invalid, "")) { try files.provider(named: "a") }
    }

    @Test(arguments: [
        ("client_secret = s3cret", "1: expected item SERVICE ACCOUNT"), ("\ncolour = red", "2: the key colour"),
        ("scope", "1: expected a line"),
        ("scope =", "1: expected a value of 1 to 4096 bytes without control characters"),
        ("token_endpoint = http://example.com/t", "1: http://example.com/t is not https"),
        ("issuer = https://example.com?x", "1: expected an issuer"), ("rotation = sometimes", "1: expected strict"),
        ("rotation = overlap 100000", "1: expected strict"), ("auth_method = private_key_jwt", "1: expected client"),
        ("scope = a\nscope = b", "2: scope is given twice"), ("include = nowhere", "1: there is no provider"),
        ("ca_file = ca.pem", "1: expected an absolute path"), ("extend_unit = weeks", "1: expected seconds"),
        ("resource = a#b", "1: the resource"),
        ("redirect = http://example.com/", "1: the redirect address http://example.com/"),
        ("client_id = a\u{1}", "1: expected a value"),
        ("parameter state = x", "1: TokenKeep itself sets the parameter state"),
        (
            "parameter a b = x",
            "1: expected a parameter's name of 1 to 64 letters, digits, hyphens, dots and underscores"
        ),
        ("parameter prompt = a\nparameter prompt = b", "2: parameter prompt is given twice"),
        ("parameter = a", "1: the key"), ("include = ../x", "1: expected the name"),
    ])
    func aWrongLineIsRefusedWithItsNumber(text: String, message: String) throws {
        let error = try #require(try fault(of: text))
        #expect(error.status == .invalid)
        #expect(error.message.hasPrefix("\(directory.path)/user/wrong.conf:\(message)"), "\(error.message)")
    }

    @Test func aFileThatOthersMayWriteIsRefused() throws {
        try write("scope = a\n", "example", mode: 0o666)
        #expect(throws: TokenKeepError(.invalid, "")) { try files.provider(named: "example") }
    }

    @Test func aDirectoryThatOthersMayWriteIsRefused() throws {
        try write("scope = a\n", "example")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: "\(directory.path)/user")
        #expect(throws: TokenKeepError(.denied, "")) { try files.provider(named: "example") }
    }

    @Test(arguments: ["", ".hidden", "../example", "a/b", "a b"])
    func aTextThatIsNoNameHasNoFile(name: String) throws { #expect(try files.provider(named: name) == nil) }

    @Test func everyShippedProviderIsRight() throws {
        let data = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("data/providers.d").path
        for file in try FileManager.default.contentsOfDirectory(atPath: data) {
            try write(
                String(contentsOfFile: "\(data)/\(file)", encoding: .utf8), String(file.dropLast(5)), in: "installed")
        }
        #expect(files.names == ["auth0", "github", "gitlab", "google", "keycloak", "microsoft", "okta"])
        for name in files.names {
            let provider = try #require(try files.provider(named: name))
            #expect(provider.rotation != nil)
            #expect(provider[.clientID] == nil && provider.secretItem == nil)
        }
    }
}
