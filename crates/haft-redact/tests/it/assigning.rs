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
fn short_names_of_passwords_hide_their_values() {
    hides(&[
        ("db_pw=5DfJXcaYioK6cPTt9iOq", "5DfJXcaYioK6cPTt9iOq", "db_pw="),
        ("bind_pw: Ua1jM1tLB4pyyRyMX5", "Ua1jM1tLB4pyyRyMX5", "bind_pw: "),
        ("bindpw 5DfJXcaYioK6cPTt9", "5DfJXcaYioK6cPTt9", "bindpw "),
        ("olcRootPW: DTn7qLWaYyDIfIZw3", "DTn7qLWaYyDIfIZw3", "olcRootPW: "),
        ("psk=\"En5jOaBa9aRQh92fn\"", "En5jOaBa9aRQh92fn", "psk="),
    ]);
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

#[test]
fn every_sign_assigns() {
    let value = "83r1xbijteqidvoxg1aps8gx";
    let redactor = Redactor::builder().build();
    let mut wrong = Vec::new();
    for text in [
        "API_TOKEN ?= \"V\"",
        "API_TOKEN ::= \"V\"",
        "API_TOKEN :::= \"V\"",
        "API_TOKEN += \"V\"",
        "API_TOKEN ?= V",
        "API_TOKEN := V",
        "API_TOKEN=V",
        "api_token: V",
        "api_token = V",
        "var apiToken string = \"V\"",
        "const apiToken string = `V`",
        "apiToken := \"V\"",
        "$apiToken .= \"V\";",
        "$this->apiToken = 'V';",
        "api_token ||= \"V\"",
        "api_token ??= \"V\"",
        "'api_token' => 'V',",
        "api_token <- \"V\"",
        "password = @\"V\";",
        "password = b\"V\"",
        "secret = u'V'",
        "std::string secret(\"V\");",
        "char secret[25] = \"V\";",
        "static const char *api_token = \"V\";",
        "secret := []byte(\"V\")",
        "let secret = Secret::new(\"V\");",
        "let token = String::from(\"V\");",
        "SecretKey secretKey = new SecretKey(\"V\");",
        "token = SecretStr(\"V\")",
        "client.setApiToken(\"V\");",
        ".password(\"V\")",
        "api_token: &anchor V",
        "api_token: !!str V",
        "api_token\u{ff1a}V",
        "define('AUTH_KEY', 'V');",
        "api_token\tV",
        "  \"api_token\" : \"V\"",
        "{api_token:'V'}",
        "@api_token = \"V\"",
        "private static final String API_TOKEN = \"V\";",
        "val apiToken: String = \"V\"",
        "set -x API_TOKEN V",
        "export API_TOKEN='V'",
        "{&quot;api_token&quot;:&quot;V&quot;}",
        "&#34;api_token&#34;: &#34;V&#34;",
        "%257B%2522api_token%2522%253A%2522V%2522%257D",
        "api_token%3DV",
        "-Dapi.token=V",
        "/p:ApiToken=V",
        "<api_token type=\"string\">V</api_token>",
        "[api_token]: V",
        "| api_token | V |",
        "API token: V",
        "Secret Access Key: V",
    ] {
        let text = text.replace('V', value);
        let clean = redactor.redact(&text).text.into_owned();
        if clean.contains(value) || !clean.contains("[redacted: ") || redactor.redact(&clean).text != clean {
            wrong.push(format!("{text}\n  became {clean}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_value_may_stand_below_its_name_or_far_behind_it() {
    hides(&[
        ("password: >-\n  q7Wm-Trombone\nhost: db", "q7Wm-Trombone", "\nhost: db"),
        ("api_token: |\n    83r1xbijteqidvoxg1aps8gx\n", "83r1xbijteqidvoxg1aps8gx", "api_token: |\n"),
        ("api_token:\n  83r1xbijteqidvoxg1aps8gx\nx: 1", "83r1xbijteqidvoxg1aps8gx", "x: 1"),
        (
            "\"api_token\":\n    \"83r1xbijteqidvoxg1aps8gx\",\n\"x\": 1",
            "83r1xbijteqidvoxg1aps8gx",
            "\"x\": 1",
        ),
        ("<apiToken>\n  83r1xbijteqidvoxg1aps8gx\n</apiToken>", "83r1xbijteqidvoxg1aps8gx", "</apiToken>"),
        ("api_token = (\n    \"83r1xbijteqidvoxg1aps8gx\"\n)", "83r1xbijteqidvoxg1aps8gx", "\n)"),
        ("API_TOKEN=\\\n  83r1xbijteqidvoxg1aps8gx", "83r1xbijteqidvoxg1aps8gx", "API_TOKEN="),
        ("client.setPassword(\n    \"q7Wm-Tr0mbone\")", "q7Wm-Tr0mbone", "setPassword("),
        (
            "variable \"db_password\" {\n  type    = string\n  default = \"q7Wm-Trombone\"\n}",
            "q7Wm-Trombone",
            "type    = string",
        ),
        (
            "{\n  \"Name\": \"/prod/db_password\",\n  \"Type\": \"SecureString\",\n  \"Value\": \"q7Wm-Trombone\"\n}",
            "q7Wm-Trombone",
            "SecureString",
        ),
        (
            "AWS Secret Access Key [None]: q7WmTr0mbone/Zk2+Xv9Ls4Bd8Hf6Jn3Pc5RgYt",
            "q7WmTr0mbone",
            "AWS Secret Access Key [None]: ",
        ),
        ("Enter passphrase for key '/home/me/.ssh/id_rsa': q7Wm-Tr0mbone", "q7Wm-Tr0mbone", "id_rsa': "),
        ("Password for 'https://me@git.example': q7Wm-Tr0mbone", "q7Wm-Tr0mbone", "git.example': "),
        ("Enter new password (again): q7Wm-Tr0mbone", "q7Wm-Tr0mbone", "(again): "),
        ("secret_key     q7WmTr0mboneZk2Xv9Ls4Bd8Hf6 env", "q7WmTr0mboneZk2Xv9Ls4Bd8Hf6", " env"),
        ("<input type=\"password\" name=\"pw\" value=\"q7Wm-Trombone\">", "q7Wm-Trombone", "name=\"pw\""),
        ("<input value=\"q7Wm-Trombone\" name=\"x\" type=password />", "q7Wm-Trombone", "type=password"),
        ("jdbc:oracle:thin:scott/q7Wm-Trombone@db:1521/x", "q7Wm-Trombone", "scott/"),
        ("redis://:q7/Wm-Tr0mbone@cache:6379/0", "q7/Wm-Tr0mbone", "cache:6379/0"),
        ("curl https://x.example \\\n  -u dev:q7Wm-Trombone \\\n  -d a=b", "q7Wm-Trombone", "-u dev:"),
        ("curl https://x.example \\\n  --user dev:'q7Wm-Trombone'", "q7Wm-Trombone", "--user dev:'"),
        ("curl -u 'k2Wm78zQx!t9:' https://x.example", "k2Wm78zQx", "https://x.example"),
        ("curl --user kevin:\"q7Wm-Trombone\" https://x.example", "q7Wm-Trombone", "kevin:\""),
        ("passwort: q7Wm-Trombone", "q7Wm-Trombone", "passwort: "),
        ("contrase\u{f1}a = q7Wm-Trombone", "q7Wm-Trombone", "contrase"),
        ("mot_de_passe: 'q7Wm-Trombone'", "q7Wm-Trombone", "mot_de_passe"),
        ("db_pass_secure := \"83r1xbijteqidvoxg1aps8gx\"", "83r1xbijteqidvoxg1aps8gx", "db_pass_secure"),
        ("apikey_myservice: 83r1xbijteqidvoxg1aps8gx", "83r1xbijteqidvoxg1aps8gx", "apikey_myservice"),
        (
            "root:$6$q7WmTrombone$Zk2Xv9Ls4Bd8Hf6Jn3Pc5RgYtZk2Xv9Ls4Bd8Hf6Jn3Pc5RgYt:19000:0:99999:7:::",
            "Zk2Xv9Ls4Bd8Hf6",
            "root:",
        ),
        ("$2y$10$q7WmTromboneZk2Xv9Ls4Bd8Hf6Jn3Pc5RgYtZk2Xv9Ls4Bd8HfZk", "TromboneZk2Xv9", ""),
    ]);
}

#[test]
fn what_a_table_has_below_a_secrets_name_goes() {
    hides(&[
        ("name,password\nbob,q7Wm-Trombone\neve,k2Zx-Lantern9\n", "q7Wm-Trombone", "eve,"),
        ("name,password\nbob,q7Wm-Trombone\neve,k2Zx-Lantern9\n", "k2Zx-Lantern9", "bob,"),
        (
            "\"id\",\"api_token\",\"x\"\n\"1\",\"83r1xbijteqidvoxg1aps8gx\",\"y\"\n",
            "83r1xbijteqidvoxg1aps8gx",
            "\"y\"",
        ),
        (
            "User name,Password,Access key ID,Secret access key,Console login link\nme,q7Wm-Trombone,AKIA2B3C4D5E6F7G2H3I,Zk2/Xv9Ls4Bd8Hf6Jn3Pc5RgYtWq1Em7Uo0Ia+2,https://x.example",
            "Zk2/Xv9Ls4Bd8Hf6Jn3Pc5RgYtWq1Em7Uo0Ia+2",
            "https://x.example",
        ),
        (
            " id | name | password      \n----+------+---------------\n  1 | bob  | q7Wm-Trombone\n(1 row)\n",
            "q7Wm-Trombone",
            "(1 row)",
        ),
        (
            "+----+----------+\n| id | password |\n+----+----------+\n|  1 | q7Wm-Trombone |\n+----+----------+\n",
            "q7Wm-Trombone",
            "|  1 | ",
        ),
        ("id\tpassword\n1\tq7Wm-Trombone\n", "q7Wm-Trombone", "1\t"),
        (
            "INSERT INTO users (id, name, password) VALUES (1, 'bob', 'q7Wm-Trombone'), (2, 'eve', 'k2Zx-Lantern9');",
            "k2Zx-Lantern9",
            "'eve'",
        ),
        (
            "INSERT INTO users (id, password)\nVALUES (1, 'q7Wm-Trombone'),\n  (2, 'k2Zx-Lantern9');",
            "k2Zx-Lantern9",
            "(2, ",
        ),
        ("COPY users (id, password) FROM stdin;\n1\tq7Wm-Trombone\n\\.\n", "q7Wm-Trombone", "\\."),
    ]);
    leaves(&[
        "def f(name, password):\n    return name, password\n",
        "user, password = input, other\nfoo, bar = 1, 2\n",
        "| option | default |\n|---|---|\n| password | none |\n",
        "import { user, password } from './x'\nimport { a, b } from './y'\n",
        "SELECT name, password FROM users\nWHERE a, b\n",
        "name,token_count\nbob,q7Wm2Xv9Ls4Bd8\n",
    ]);
}

#[test]
fn a_token_is_found_in_other_writings() {
    use base64::{
        Engine,
        engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
    };
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let redactor = Redactor::builder().build();
    let coloured = format!("{}\x1b[31m{}\x1b[0m{}", &token[..10], &token[10..20], &token[20..]);
    let veiled = format!("{}\u{200b}{}\u{2060}{}", &token[..2], &token[2..25], &token[25..]);
    let mut wrong = Vec::new();
    for written in [
        coloured,
        veiled,
        token.replace('_', "%5F"),
        STANDARD.encode(token),
        STANDARD.encode(format!("x: {token}\n")),
        URL_SAFE_NO_PAD.encode(format!("me:{token}")),
    ] {
        for text in [format!("log {written} end"), written.clone(), format!("{{\"x\":\"{written}\"}}")] {
            let clean = redactor.redact(&text).text.into_owned();
            let piece = &written[written.len() - 8..];
            if clean.contains(piece) || !clean.contains("[redacted: github token]") {
                wrong.push(format!("{text:?} became {clean:?}"));
            }
            assert_eq!(redactor.redact(&clean).text, clean);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    leaves(&["Z2hwXyBpcyBob3cgdGhleSBiZWdpbg==", "caf\u{e9}\u{200b}s ghp_ x", "\x1b[31mgh\x1b[0mp_ none"]);
}
