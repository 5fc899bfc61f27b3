import Testing

@testable import TokenKeepOAuth

@Suite struct BrowserLaunchTests {
    @Test func aBrowsersCommandThatFailsLateHasOpenedTheAddress() {
        #expect(!BrowserLaunch.run(["false"]))
        #expect(BrowserLaunch.run(["false"], patience: 0))
        #expect(BrowserLaunch.run(["true"]))
        #expect(!BrowserLaunch.run(["/nonexistent"], patience: 0))
    }
}
