//! All ways in which a name gets its value, and values that look like something else. The secret of every row stands in
//! its second column, and nothing of it may be left; what is in the third must stay.

use haft_redact::Redactor;

type Row = (&'static str, &'static str, &'static str);

/// Every row must hide its secret, keep what stands around it, and not change when it is redacted again.
#[track_caller]
fn hides(rows: &[Row]) {
    let redactor = Redactor::builder().build();
    let mut wrong = Vec::new();
    for (text, secret, keep) in rows {
        assert!(text.contains(secret), "{secret:?} is not in {text:?}");
        let clean = redactor.redact(text).text.into_owned();
        let is_gone = !clean.contains(secret) && clean.contains("[redacted: ");
        let is_stable = redactor.redact(&clean).text == clean;
        if !is_gone || !clean.contains(keep) || !is_stable || clean.lines().count() != text.lines().count() {
            wrong.push(format!("{text:?}\n  became {clean:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[track_caller]
fn leaves(texts: &[&str]) {
    let redactor = Redactor::builder().build();
    let clean = |text: &&&str| (text.to_string(), redactor.redact(text).text.into_owned());
    let wrong: Vec<_> = texts.iter().map(|text| clean(&text)).filter(|(text, clean)| text != clean).collect();
    assert!(wrong.is_empty(), "{} of {} are wrong: {wrong:#?}", wrong.len(), texts.len());
}

#[test]
fn values_that_look_like_words_or_code() {
    hides(&[
        ("password: rTqvNwUylHxdoY!", "rTqvNwUylHxdoY!", "password: "),
        ("api_key: qrstuvwxabcdefgh!", "qrstuvwxabcdefgh!", "api_key: "),
        ("password: $ecretTr0mb", "$ecretTr0mb", "password: "),
        ("password: (Xyz987abc)", "Xyz987abc", "password: "),
        ("password: bar()Foo7", "bar()Foo7", "password: "),
        ("password: violet-trombone-lantern", "violet-trombone-lantern", "password: "),
        ("password: \"tr@mbone lamp 7\"", "tr@mbone lamp 7", "password: \""),
        ("DB_PASSWORD=\"violet trombone qXVLPd\"", "violet trombone qXVLPd", "DB_PASSWORD=\""),
        ("DB_PASSWORD=\"violet trombone lantern seven\"", "violet trombone", "DB_PASSWORD=\""),
        ("PASSWORD='tr'\\''omBo9Zk2'", "omBo9Zk2", "PASSWORD='"),
        ("password = 'don''t4Trombo'", "t4Trombo", "password = '"),
        ("secret_key: aB3#kd^9Lq!zT5", "aB3#kd^9Lq!zT5", "secret_key: "),
        ("DB_PASSWORD=Tr0mb&one;x9", "Tr0mb", "DB_PASSWORD="),
        ("token: [k7TromBo9Zq2LmN4xW", "k7TromBo9Zq2LmN4xW", "token: "),
    ]);
}

#[test]
fn code_is_left() {
    leaves(&[
        "def check(valid_token: SessionAPITokenAuth | None):",
        "auth: SharedTransportProvider",
        "apiKey: customSettings.ANTHROPIC_API_KEY,",
        "accessToken = firstToken.AccessToken",
        "lookupKey := types.NamespacedName{Name: name}",
        "conn.ClientAuth = tls.RequireAndVerifyClientCert",
        "cli_key: EventMetadataKey.CLI_API_REQUEST_MODEL,",
        "use windows_sys::Win32::Security::Authorization::SetNamedSecurityInfoW;",
        "let token = SemanticTokenValue {",
        "\"tls.key\": serverKeyPEM,",
        "s.RequestTimeoutInSeconds = 3",
        "s.buildDeploymentController(ctx)",
        "<img src=\"/img/banner-xoxo-festival-1.jpg\">",
        "video_box.ico-7a388b69018576d24b59331fd60aab0c.png",
        "curl -u <user:password> https://x",
        "private_key: ed25519.Ed25519PrivateKey, data: bytes",
        "def connect(self, host, password=None):",
        "fn new(transport: T, auth: SharedAuthProvider) -> Self {",
        "pub token: Token![#],",
        "url = \"https://api.example.com/v1?access_token=\" + value + \"&page=1\"",
        "fmt.Sprintf(\"client=%s&user_token=%s\", key, user)",
        "const i=s.selectWebhooksOperations(),a=e.token,n={accessToken:e})}),(0,t.jsx)(x,{",
        "-H 'Authorization: Bearer sk-1234'",
        "req.Header.Add(\"Authorization\", \"Token token=\"+match)",
        "The --username and --password options are required.",
        "PATTERN_KEY = regexp.MustCompile(`TOKEN=([0-9A-Fa-f]{64})`)",
        "protobuf_key:\"bytes,1,opt,name=key,proto3\"",
        "WaitForTaskToken = \"waitForTaskToken\"",
        "\"AWS::KMS::ReplicaKey\": \"903f43e74c8d8853\",",
        "api_key = self.api_keys[api_key_id]",
        "if ($password === $confirmation) {",
        "password_hash = hashlib.sha256(password.encode()).hexdigest()",
        "const { token } = await getSession();",
        "secretKeyRef:",
        "password: z.string().min(8).max(100),",
        "token: Annotated[str, Depends(oauth2_scheme)],",
        "auth: tuple[str, str] | None = None,",
        "self.password = password or self.config.get('password')",
        "private val accessToken: MutableStateFlow<String?> = MutableStateFlow(null)",
        "@Value(\"${app.jwt.secret}\") private String jwtSecret;",
        "String apiKey = System.getenv(\"API_KEY\");",
        "apiKey: process.env.OPENAI_API_KEY ?? '',",
        "let token = req.headers()[\"authorization\"].to_str()?;",
        "static final String PASSWORD = \"password\";",
        "KEY_PASSWORD_FILE = \"config/passwords.yml\"",
        "expect(screen.getByLabelText('Password:')).toBeVisible();",
        "password: 'Please enter your password',",
        "errors.password = \"Password must be at least 8 characters\"",
    ]);
}
