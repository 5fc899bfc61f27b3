import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

/// NOT_FOUND names a module only if the module answered.
@Suite struct MissingItemTests {
    private let directory = TemporaryDirectory()

    private func failure(_ stack: String) throws -> TokenKeepError {
        var configuration = StoreConfiguration(stackText: stack)
        configuration.vaultPath = directory.path + "/vault"
        configuration.busAddress = "unix:path=\(directory.path)/no-bus"
        let store = try Store(configuration)
        do throws(TokenKeepError) {
            _ = try store.load(service: "example.com", account: "ann")
        } catch {
            return error
        }
        throw TokenKeepError(.internal, "an item was found")
    }

    @Test func aModuleThatIsAbsentIsNotNamed() throws {
        let found = try failure("any sufficient secret-service\nany required vault")
        #expect(found.status == .notFound)
        #expect(found.module == "vault")
        #expect(found.message == "no item example.com (ann)")
    }

    @Test func noModuleIsNamedIfNoneAnswered() throws {
        let found = try failure("any required secret-service")
        #expect(found.status == .notFound)
        #expect(found.module == nil)
    }

    @Test func aModuleThatAnsweredIsNamed() throws {
        #expect(try failure("any required vault").module == "vault")
        #expect(try failure("any sufficient memory\nany required vault").module == "memory")
    }
}
