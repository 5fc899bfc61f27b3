import ArgumentParser

/// `tokenkeep session …`.
struct SessionCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Keep tokens fresh: sign in once, renew in one process, sign out everywhere.",
        discussion: """
            A session is the token response of a server, kept for an account. A script asks for the token before each \
            call; when the token is about to end, one process renews it and the others wait for it:

              ./sign-in | tokenkeep session begin api.example.com ann --provider example
              tokenkeep session token api.example.com --header | curl -H @- https://api.example.com/me
              tokenkeep session logout api.example.com

            The server is asked at the endpoints in the provider's file; see tokenkeep provider. --exec CMD asks it \
            instead. CMD runs in a shell and gets the refresh token on standard input. It prints the \
            answer's body, or status line, headers and body as curl -i does. Its exit code is 0, or 75 if nothing was \
            sent. \(ExecTransport.purposeVariable) is refresh, revoke, validate or extend; TOKENKEEP_SERVICE and \
            TOKENKEEP_ACCOUNT name the session. Without ACCOUNT the active account is meant.
            """.withWholeExamples,
        subcommands: [
            SessionBeginCommand.self, SessionLoginCommand.self, SessionTokenCommand.self, SessionRefreshCommand.self,
            SessionRejectedCommand.self, SessionValidateCommand.self, SessionExtendCommand.self,
            SessionListCommand.self, SessionShowCommand.self, SessionSwitchCommand.self,
            SessionLogoutCommand.self, SessionFlushCommand.self, SessionClaimsCommand.self,
            SessionDeviceCommand.self, SessionWatchCommand.self, SessionKeepCommand.self,
        ])
}
