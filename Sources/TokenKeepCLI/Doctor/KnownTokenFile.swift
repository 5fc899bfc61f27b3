import TokenKeepCore

/// A file in which a program stores tokens without encryption.
struct KnownTokenFile: Sendable {
    /// The path. `~`, `CONFIG`, `DATA` and `RUNTIME` are placeholders for the user's directories.
    let path: String
    /// The environment variable whose value, if set, replaces the directory of `path`; nil if there is no such
    /// variable.
    let variable: String?
    /// The environment variable that names a further file of this kind, beside `path`; nil if there is no such
    /// variable.
    let fileVariable: String?
    /// The form in which the file holds tokens.
    let content: PlainContent
    /// The command that moves the tokens or ends them. `'FILE'` stands for the path, `'FOLDER'` for its folder, `'LOGIN'`,
    /// `'KUBE-TOKEN'` and `'KUBE-KEY'` for commands with the names in the file.
    let command: String
    /// The prefix of the services under which TokenKeep's helper saves such tokens in the vault; nil if there is no
    /// such helper.
    let services: String?
    /// Whether programs read this file before they query a helper, so that the file takes precedence over the vault.
    let comesFirst: Bool

    init(
        _ path: String, orIn variable: String? = nil, orAt fileVariable: String? = nil, _ content: PlainContent,
        moves command: String, kept services: String? = nil, comesFirst: Bool = false
    ) {
        self.path = path
        self.variable = variable
        self.fileVariable = fileVariable
        self.content = content
        self.command = command
        self.services = services
        self.comesFirst = comesFirst
    }
}

extension KnownTokenFile {
    // Each command sets up the helper before it moves the tokens, because the program would otherwise not find them any
    // more.
    private static let fromAuths = "tokenkeep import --from docker 'FILE' --remove"
    private static let fromDocker = "tokenkeep setup docker --yes && \(fromAuths)"
    private static let fromPodman = "tokenkeep setup podman --yes && \(fromAuths)"
    private static let fromHelm = "DOCKER_CONFIG='FOLDER' tokenkeep setup docker --yes && \(fromAuths)"
    private static let fromGit =
        "tokenkeep setup git --yes && tokenkeep import --from git-credentials 'FILE' --remove"
    /// The import of `.netrc` has no `--remove`, because programs that read the file would not find the item in the
    /// vault.
    private static let fromNetrc = "tokenkeep import --from netrc 'FILE'"
    private static let gitOfNetrc = "tokenkeep setup git --yes && tokenkeep save git:https://HOST NAME"
    private static let inGit: PlainContent = [
        "https:", "http:", "ssh:", "ftp:", "ftps:", "smtp:", "smtps:", "imap:", "imaps:",
    ]
    private static let inDocker: PlainContent = ["auth:", "identitytoken:", "registrytoken:", "password:"]

    /// The token files of widely used developer programs, grouped by program.
    static let all: [KnownTokenFile] =
        [
            KnownTokenFile("~/.git-credentials", inGit, moves: fromGit, kept: "git:"),
            KnownTokenFile("CONFIG/git/credentials", inGit, moves: fromGit, kept: "git:"),
            KnownTokenFile("~/.netrc", orAt: "NETRC", .netrc, moves: gitOfNetrc, comesFirst: true),
            KnownTokenFile("~/.authinfo", .netrc, moves: fromNetrc),
            KnownTokenFile(
                "~/.docker/config.json", orIn: "DOCKER_CONFIG", inDocker, moves: fromDocker, kept: "docker:"),
            KnownTokenFile(
                "RUNTIME/containers/auth.json", orAt: "REGISTRY_AUTH_FILE", inDocker, moves: fromPodman,
                kept: "docker:"),
            KnownTokenFile("CONFIG/containers/auth.json", inDocker, moves: fromPodman, kept: "docker:"),
            KnownTokenFile(
                "CONFIG/helm/registry/config.json", inDocker, moves: fromHelm,
                kept: "docker:"),
            KnownTokenFile(
                "~/.cargo/credentials.toml", orIn: "CARGO_HOME", ["token=", "secret-key="], moves: cargo, kept: "cargo:"
            ),
            KnownTokenFile(
                "~/.cargo/credentials", orIn: "CARGO_HOME", ["token=", "secret-key="], moves: cargo, kept: "cargo:"),
            KnownTokenFile(
                "~/.npmrc", orAt: "NPM_CONFIG_USERCONFIG", ["_authToken=", "_password=", "_auth="], moves: npm),
            KnownTokenFile("~/.yarnrc.yml", ["npmAuthToken:", "npmAuthIdent:"], moves: npm),
            KnownTokenFile(
                "~/.pypirc", ["password=", "password:"], moves: "keyring set https://upload.pypi.org/legacy/ __token__"),
            KnownTokenFile(
                "CONFIG/pypoetry/auth.toml", orIn: "POETRY_CONFIG_DIR", ["password=", "token=", "[pypi-token]"],
                moves: "poetry config keyring.enabled true"),
            KnownTokenFile(
                "DATA/uv/credentials/credentials.toml", ["password=", "token="], moves: "uv auth logout SERVICE"),
            KnownTokenFile(
                "DATA/python_keyring/keyring_pass.cfg", .pythonKeyring,
                moves: "tokenkeep import --from python-keyring 'FILE' --remove"),
            KnownTokenFile("CONFIG/gh/hosts.yml", orIn: "GH_CONFIG_DIR", ["oauth_token:"], moves: "gh auth refresh"),
            KnownTokenFile("CONFIG/hub", ["oauth_token:"], moves: "tokenkeep save git:https://github.com NAME"),
            KnownTokenFile(
                "CONFIG/glab-cli/config.yml", ["token:", "oauth2_refresh_token:", "job_token:"],
                moves: "glab auth login --use-keyring"),
        ] + clouds + others

    private static let npm = "tokenkeep run --env NPM_TOKEN=tokenkeep://npm/NAME -- npm publish"

    private static let cargo = "tokenkeep setup cargo --yes && 'LOGIN'"

    private static let clouds: [KnownTokenFile] = [
        KnownTokenFile(
            "~/.aws/credentials", orAt: "AWS_SHARED_CREDENTIALS_FILE",
            ["aws_secret_access_key=", "aws_session_token="],
            moves: "tokenkeep save aws:PROFILE KEY-ID", kept: "aws:"),
        KnownTokenFile(
            "~/.aws/sso/cache/*", ["accessToken:", "refreshToken:", "clientSecret:"], moves: "aws sso logout"),
        KnownTokenFile("~/.aws/cli/cache/*", ["SecretAccessKey:", "SessionToken:"], moves: "rm -r ~/.aws/cli/cache"),
        KnownTokenFile(
            "~/.aws/login/cache/*", orIn: "AWS_LOGIN_CACHE_DIRECTORY", ["refreshToken:", "secretAccessKey:"],
            moves: "export AWS_LOGIN_CACHE_DIRECTORY=$XDG_RUNTIME_DIR/aws-login"),
        KnownTokenFile(
            "~/.azure/msal_token_cache.json", orIn: "AZURE_CONFIG_DIR", ["secret:"],
            moves: "az config set core.encrypt_token_cache=true"),
        KnownTokenFile(
            "~/.azure/service_principal_entries.json", orIn: "AZURE_CONFIG_DIR",
            ["client_secret:", "client_assertion:"], moves: "az logout"),
        KnownTokenFile(
            "CONFIG/gcloud/credentials.db", orIn: "CLOUDSDK_CONFIG", ["refresh_token:", "private_key:"],
            moves: "gcloud auth revoke --all"),
        KnownTokenFile(
            "CONFIG/gcloud/access_tokens.db", orIn: "CLOUDSDK_CONFIG", .beginning("ya29."),
            moves: "gcloud auth revoke --all"),
        KnownTokenFile(
            "CONFIG/gcloud/application_default_credentials.json", orIn: "CLOUDSDK_CONFIG",
            ["refresh_token:", "private_key:"],
            moves: "gcloud auth application-default revoke"),
        KnownTokenFile(
            "~/.kube/config", orIn: "KUBECONFIG",
            ["token:", "password:", "id-token:", "refresh-token:", "access-token:", "client-secret:"],
            moves: "'KUBE-TOKEN'", kept: "kubernetes:"),
        KnownTokenFile(
            "~/.kube/config", orIn: "KUBECONFIG", ["client-key-data:"],
            moves: "'KUBE-KEY'", kept: "kubernetes:"),
        KnownTokenFile(
            "~/.kube/cache/oidc-login/*", ["id_token:", "refresh_token:"], moves: "kubectl oidc-login clean"),
        KnownTokenFile(
            "~/.terraform.d/credentials.tfrc.json", ["token:"], moves: "terraform logout HOST", kept: "terraform:"),
        KnownTokenFile(
            "~/.databricks/token-cache.json", ["access_token:", "refresh_token:"], moves: "databricks auth logout"),
        KnownTokenFile("~/.databrickscfg", orAt: "DATABRICKS_CONFIG_FILE", ["token="], moves: "databricks auth login"),
        KnownTokenFile("~/.vault-token", .lines, moves: "vault token revoke -self"),
        KnownTokenFile("~/.s3cfg", ["secret_key="], moves: "tokenkeep save s3cmd NAME"),
    ]

    private static let others: [KnownTokenFile] = [
        KnownTokenFile("~/.vscode/cli/token.json", .json, moves: "code tunnel user logout"),
        KnownTokenFile(
            "~/.claude/.credentials.json", orIn: "CLAUDE_CONFIG_DIR",
            ["accessToken:", "refreshToken:", "access_token:", "refresh_token:", "clientSecret:"],
            moves: "tokenkeep helper-link ~/.local/bin/claude-key tokenkeep://anthropic/NAME"),
        KnownTokenFile(
            "~/.codex/auth.json", orIn: "CODEX_HOME", ["access_token:", "refresh_token:", "OPENAI_API_KEY:"],
            moves: "codex -c cli_auth_credentials_store=keyring login"),
        KnownTokenFile(
            "~/.codex/.credentials.json", orIn: "CODEX_HOME", .json,
            moves: "codex -c mcp_oauth_credentials_store=keyring mcp login NAME"),
        KnownTokenFile("~/.gemini/oauth_creds.json", ["access_token:", "refresh_token:"], moves: "rm 'FILE'"),
        KnownTokenFile("~/.gemini/mcp-oauth-tokens.json", .json, moves: "rm 'FILE'"),
        KnownTokenFile("~/.gemini/.env", ["GEMINI_API_KEY=", "GOOGLE_API_KEY="], moves: gemini),
        KnownTokenFile(
            "~/.copilot/config.json", ["copilot_tokens:{", "copilotTokens:{", "token:"],
            moves: "tokenkeep secret-service enable"),
        KnownTokenFile("CONFIG/github-copilot/hosts.json", ["oauth_token:"], moves: "tokenkeep secret-service enable"),
        KnownTokenFile("CONFIG/github-copilot/apps.json", ["oauth_token:"], moves: "tokenkeep secret-service enable"),
        KnownTokenFile(
            "CONFIG/rclone/rclone.conf", orAt: "RCLONE_CONFIG",
            [
                "pass=", "token=", "secret_access_key=", "client_secret=", "password=", "password2=", "key=",
                "sas_url=",
                "bearer_token=", "access_token=", "refresh_token=", "session_token=", "api_key=", "access_grant=",
                "passphrase=", "key_pem=", "key_file_pass=", "file_password=", "service_account_credentials=",
            ],
            moves: "rclone config encryption set"),
        KnownTokenFile("~/.gem/credentials", ["rubygems_api_key:"], moves: "gem signout"),
        KnownTokenFile("~/.m2/settings.xml", ["<password>"], moves: "mvn --encrypt-password"),
        KnownTokenFile(
            "~/.pgpass", orAt: "PGPASSFILE", .lines,
            moves: "tokenkeep run --env PGPASSWORD=tokenkeep://postgresql/NAME -- psql"),
        KnownTokenFile(
            "~/.my.cnf", ["password="], moves: "tokenkeep run --env MYSQL_PWD=tokenkeep://mysql/NAME -- mysql"),
        KnownTokenFile("~/.msmtprc", ["password "], moves: "tokenkeep save smtp NAME"),
    ]

    private static let gemini = "tokenkeep run --env GEMINI_API_KEY=tokenkeep://gemini/NAME -- gemini"
}
