import TokenKeepCore

/// A file in which a program keeps tokens without encryption.
struct PlainFile: Sendable {
    /// The path. `~`, `CONFIG`, `DATA` and `RUNTIME` stand for the user's folders.
    let path: String
    /// A variable of the environment that names another folder in place of the path's.
    let variable: String?
    /// The form in which the file holds tokens.
    let content: PlainContent
    /// The command that moves the tokens or ends them. `FILE` stands for the path.
    let command: String
    /// How the services of such items begin in the vault; nil if no helper of ours keeps such items.
    let services: String?
    /// Whether programs read this file before they ask a helper: a line in it wins over the vault.
    let comesFirst: Bool

    init(
        _ path: String, orIn variable: String? = nil, _ content: PlainContent, moves command: String,
        kept services: String? = nil, comesFirst: Bool = false
    ) {
        self.path = path
        self.variable = variable
        self.content = content
        self.command = command
        self.services = services
        self.comesFirst = comesFirst
    }
}

extension PlainFile {
    private static let fromDocker = "tokenkeep import --from docker 'FILE' --remove"
    private static let fromGit = "tokenkeep import --from git-credentials 'FILE' --remove"
    private static let fromNetrc = "tokenkeep import --from netrc 'FILE' --remove"
    private static let inDocker: PlainContent = ["auth:", "identitytoken:", "registrytoken:", "password:"]

    /// The files of the programs that developers use most, by program.
    static let known: [PlainFile] =
        [
            PlainFile("~/.git-credentials", ["https:", "http:"], moves: fromGit, kept: "git:"),
            PlainFile("CONFIG/git/credentials", ["https:", "http:"], moves: fromGit, kept: "git:"),
            PlainFile("~/.netrc", .netrc, moves: fromNetrc, comesFirst: true),
            PlainFile("~/.authinfo", .netrc, moves: fromNetrc),
            PlainFile("~/.docker/config.json", orIn: "DOCKER_CONFIG", inDocker, moves: fromDocker, kept: "docker:"),
            PlainFile("RUNTIME/containers/auth.json", inDocker, moves: fromDocker, kept: "docker:"),
            PlainFile("CONFIG/containers/auth.json", inDocker, moves: fromDocker, kept: "docker:"),
            PlainFile("CONFIG/helm/registry/config.json", inDocker, moves: fromDocker, kept: "docker:"),
            PlainFile(
                "~/.cargo/credentials.toml", orIn: "CARGO_HOME", ["token="], moves: "cargo login", kept: "cargo:"),
            PlainFile("~/.cargo/credentials", orIn: "CARGO_HOME", ["token="], moves: "cargo login", kept: "cargo:"),
            PlainFile("~/.npmrc", ["_authToken=", "_password=", "_auth="], moves: npm),
            PlainFile("~/.yarnrc.yml", ["npmAuthToken:", "npmAuthIdent:"], moves: npm),
            PlainFile(
                "~/.pypirc", ["password=", "password:"], moves: "keyring set https://upload.pypi.org/legacy/ __token__"),
            PlainFile(
                "CONFIG/pypoetry/auth.toml", ["password=", "token="], moves: "poetry config keyring.enabled true"),
            PlainFile(
                "DATA/uv/credentials/credentials.toml", ["password=", "token="], moves: "uv auth logout SERVICE"),
            PlainFile(
                "DATA/python_keyring/keyring_pass.cfg", .pythonKeyring,
                moves: "tokenkeep import --from python-keyring 'FILE' --remove"),
            PlainFile("CONFIG/gh/hosts.yml", ["oauth_token:"], moves: "gh auth refresh"),
            PlainFile("CONFIG/hub", ["oauth_token:"], moves: "tokenkeep save git:https://github.com NAME"),
            PlainFile("CONFIG/glab-cli/config.yml", ["token:"], moves: "glab auth login --use-keyring"),
        ] + clouds + others

    private static let npm = "tokenkeep run --env NPM_TOKEN=tokenkeep://npm/NAME -- npm publish"

    private static let clouds: [PlainFile] = [
        PlainFile(
            "~/.aws/credentials", ["aws_secret_access_key=", "aws_session_token="],
            moves: "tokenkeep save aws:PROFILE KEY-ID", kept: "aws:"),
        PlainFile("~/.aws/sso/cache/*", ["accessToken:", "refreshToken:", "clientSecret:"], moves: "aws sso logout"),
        PlainFile("~/.aws/cli/cache/*", ["SecretAccessKey:", "SessionToken:"], moves: "rm -r ~/.aws/cli/cache"),
        PlainFile(
            "~/.aws/login/cache/*", orIn: "AWS_LOGIN_CACHE_DIRECTORY", ["refreshToken:", "secretAccessKey:"],
            moves: "export AWS_LOGIN_CACHE_DIRECTORY=$XDG_RUNTIME_DIR/aws-login"),
        PlainFile("~/.azure/msal_token_cache.json", ["secret:"], moves: "az config set core.encrypt_token_cache=true"),
        PlainFile(
            "~/.azure/service_principal_entries.json", ["client_secret:", "client_assertion:"], moves: "az logout"),
        PlainFile(
            "CONFIG/gcloud/credentials.db", ["refresh_token:", "private_key:"], moves: "gcloud auth revoke --all"),
        PlainFile("CONFIG/gcloud/access_tokens.db", .beginning("ya29."), moves: "gcloud auth revoke --all"),
        PlainFile(
            "CONFIG/gcloud/application_default_credentials.json", ["refresh_token:", "private_key:"],
            moves: "gcloud auth application-default revoke"),
        PlainFile(
            "~/.kube/config", orIn: "KUBECONFIG", ["token:", "client-key-data:", "password:"],
            moves: "kubectl config set-credentials NAME --exec-command=kubectl-tokenkeep --exec-arg=NAME",
            kept: "kubernetes:"),
        PlainFile("~/.kube/cache/oidc-login/*", ["id_token:", "refresh_token:"], moves: "kubectl oidc-login clean"),
        PlainFile(
            "~/.terraform.d/credentials.tfrc.json", ["token:"], moves: "terraform logout HOST", kept: "terraform:"),
        PlainFile(
            "~/.databricks/token-cache.json", ["access_token:", "refresh_token:"], moves: "databricks auth logout"),
        PlainFile("~/.databrickscfg", ["token="], moves: "databricks auth login"),
        PlainFile("~/.vault-token", .lines, moves: "vault token revoke -self"),
        PlainFile("~/.s3cfg", ["secret_key="], moves: "tokenkeep save s3cmd NAME"),
    ]

    private static let others: [PlainFile] = [
        PlainFile("~/.vscode/cli/token.json", .json, moves: "code tunnel user logout"),
        PlainFile(
            "~/.claude/.credentials.json", ["accessToken:", "refreshToken:"],
            moves: "tokenkeep helper-link ~/.local/bin/claude-key tokenkeep://anthropic/NAME"),
        PlainFile(
            "~/.codex/auth.json", ["access_token:", "refresh_token:", "OPENAI_API_KEY:"],
            moves: "codex -c cli_auth_credentials_store=keyring login"),
        PlainFile(
            "~/.codex/.credentials.json", .json, moves: "codex -c mcp_oauth_credentials_store=keyring mcp login NAME"),
        PlainFile("~/.gemini/oauth_creds.json", ["access_token:", "refresh_token:"], moves: "rm 'FILE'"),
        PlainFile("~/.gemini/mcp-oauth-tokens.json", .json, moves: "rm 'FILE'"),
        PlainFile("~/.gemini/.env", ["GEMINI_API_KEY=", "GOOGLE_API_KEY="], moves: gemini),
        PlainFile("~/.copilot/config.json", ["copilot_tokens:", "token:"], moves: "tokenkeep secret-service enable"),
        PlainFile("CONFIG/github-copilot/hosts.json", ["oauth_token:"], moves: "tokenkeep secret-service enable"),
        PlainFile("CONFIG/github-copilot/apps.json", ["oauth_token:"], moves: "tokenkeep secret-service enable"),
        PlainFile(
            "CONFIG/rclone/rclone.conf", orIn: nil,
            ["pass=", "token=", "secret_access_key=", "client_secret=", "password="],
            moves: "rclone config encryption set"),
        PlainFile("~/.gem/credentials", ["rubygems_api_key:"], moves: "gem signout"),
        PlainFile("~/.m2/settings.xml", ["<password>"], moves: "mvn --encrypt-password"),
        PlainFile("~/.pgpass", .lines, moves: "tokenkeep run --env PGPASSWORD=tokenkeep://postgresql/NAME -- psql"),
        PlainFile("~/.my.cnf", ["password="], moves: "tokenkeep run --env MYSQL_PWD=tokenkeep://mysql/NAME -- mysql"),
        PlainFile("~/.msmtprc", ["password "], moves: "tokenkeep save smtp NAME"),
    ]

    private static let gemini = "tokenkeep run --env GEMINI_API_KEY=tokenkeep://gemini/NAME -- gemini"
}
