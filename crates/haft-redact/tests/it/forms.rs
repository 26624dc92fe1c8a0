//! What is taken out, and what stays.

use haft_redact::Redactor;
use serde_json::json;

#[track_caller]
fn check(text: &str, expected: &str) {
    let redactor = Redactor::builder().build();
    assert_eq!(redactor.redact(text).text, expected);
    assert_eq!(redactor.redact(expected).text, expected, "a second time");
}

#[track_caller]
fn stays(text: &str) {
    check(text, text);
}

#[test]
fn a_password_in_an_address_goes_and_the_address_stays() {
    check("postgres://app:k7Tr-ombo9@db:5432/x", "postgres://app:[redacted: password]@db:5432/x");
    check("redis://:k7Tr-ombo9@cache/0", "redis://:[redacted: password]@cache/0");
    check("see https://u:p%40ss12@h.example/?q=1.", "see https://u:[redacted: password]@h.example/?q=1.");
    check(r#""https:\/\/u:k7Trombo9@h\/p""#, r#""https:\/\/u:[redacted: password]@h\/p""#);
    check("amqp://u:k7Tr/omBo9x2Yz4Qw8@mq/", "amqp://u:[redacted: password]@mq/");
    check(
        "https://k7Trombo9x2:x-oauth-basic@h.example/a",
        "https://[redacted: secret]:x-oauth-basic@h.example/a",
    );
    for text in [
        "https://example.com:8080/a@b",
        "ssh://git@github.com/o/r",
        "http://user:password@host/",
        "http://$USER:$PASS@host/",
        "http://user:<password>@host/",
        "https://{user}:{password}@host/",
        "https://h/p?mail=a@b.c and c:d@e",
    ] {
        stays(text);
    }
}

#[test]
fn what_headers_carry_goes() {
    check("Authorization: Bearer k7Trombo9k7Trombo9", "Authorization: Bearer [redacted: authorization]");
    check("-H 'authorization: Basic dTpwYXNzMTIz'", "-H 'authorization: Basic [redacted: authorization]'");
    check(
        r#"{"Authorization": "token k7Trombo9k7"}"#,
        r#"{"Authorization": "token [redacted: authorization]"}"#,
    );
    check("X-Api-Key: k7Trombo9k7", "X-Api-Key: [redacted: secret]");
    check(
        "Cookie: lang=en; sid=k7Trombo9k7; theme=dark",
        "Cookie: lang=en; sid=[redacted: cookie]; theme=dark",
    );
    check(
        "Set-Cookie: id=k7TromBo9k7TroMbo9; Path=/; HttpOnly",
        "Set-Cookie: id=[redacted: cookie]; Path=/; HttpOnly",
    );
    check("sent Bearer k7TromBo9k7TroMbo9.", "sent Bearer [redacted: authorization]");
    for text in [
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer ${{ secrets.TOKEN }}",
        "Authorization: Basic realm",
        "Authorization is required",
        "Bearer tokens are sent in a header",
        "Cookie: consent=yes; lang=de",
        "WWW-Authenticate: Basic realm=\"x\"",
    ] {
        stays(text);
    }
}

#[test]
fn the_value_of_a_secrets_name_goes() {
    for (text, expected) in [
        ("DB_PASSWORD=k7Trombo!\nDB_HOST=db", "DB_PASSWORD=[redacted: password]\nDB_HOST=db"),
        ("db.password=trombone", "db.password=[redacted: password]"),
        ("password: 'k7 Trombo'", "password: '[redacted: password]'"),
        (r#"{"user":"u","password":"k7Trombo"}"#, r#"{"user":"u","password":"[redacted: password]"}"#),
        (r#""{\"password\":\"k7Trombo\"}""#, r#""{\"password\":\"[redacted: password]\"}""#),
        ("env['API_KEY'] = 'k7Trombo9k7'", "env['API_KEY'] = '[redacted: secret]'"),
        ("?user=u&api_key=k7Trombo9&x=1", "?user=u&api_key=[redacted: secret]&x=1"),
        ("Server=s;Password=k7Trombo;Db=d", "Server=s;Password=[redacted: password];Db=d"),
        ("AccountKey=k7TromBo9k7TroMbo9==;x", "AccountKey=[redacted: secret]"),
        ("<password>k7Trombo</password>", "<password>[redacted: password]</password>"),
        (
            "<add key=\"Password\" value=\"k7Trombo\"/>",
            "<add key=\"Password\" value=\"[redacted: password]\"/>",
        ),
        (
            "{\"name\": \"DB_PASS\", \"value\": \"k7Trombo\"}",
            "{\"name\": \"DB_PASS\", \"value\": \"[redacted: password]\"}",
        ),
        ("tool --password k7Trombo -v", "tool --password [redacted: password] -v"),
        ("tool --token=k7Trombo9 -v", "tool --token=[redacted: secret] -v"),
        ("//r.example/:_authToken=0a1b2c3d-4e5f", "//r.example/:_authToken=[redacted: secret]"),
        ("secretAccessKey: k7TromBo9k7TroMbo9", "secretAccessKey: [redacted: secret]"),
        ("\x1b[31mtoken=k7Trombo9k7\x1b[0m", "\x1b[31mtoken=[redacted: secret]\x1b[0m"),
    ] {
        check(text, expected);
    }
}

#[test]
fn what_only_looks_like_a_value_stays() {
    for text in [
        "password: {{ .Values.password }}",
        "PASSWORD=${PASSWORD:-x}",
        "PASSWORD=$(pass show db)",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password = getpass.getpass()",
        "let password: String = config.password;",
        "fn check(password: &str, token: Option<String>) -> bool {",
        "token = lexer.next_token()",
        "token: Token::Ident",
        "let token: String = self.next();",
        "password: String, other: &str = \"k7Tr-ombo9x2Yz4\"",
        "os.getenv(\"API_KEY\", \"default\")",
        "[\"password\", \"username\"]",
        "matches(\"token\", \"other words here\")",
        "secret_id: arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
        "GPG_KEY=A035C8C19219BA821ECEA86B64E628F8D684696D",
        "password: required",
        "secret: false",
        "token=null",
        "API_KEY=<your key>",
        "API_KEY=your-api-key-here1",
        "password=changeme",
        "password=********",
        "token: xxxxxxxxxxxxxxxx",
        "private_key: /etc/ssl/private/server.key",
        "key_file=~/.ssh/id_ed25519",
        "token_count=512, max_tokens: 4096",
        "nextPageToken: CAoQAA12345678",
        "primary_key=id",
        "cache_key: 0a1b2c3d4e5f60718293",
        "Enter your password:",
        "password: ",
        "The password is checked 3 times.",
        "if (password == other) {",
        "secretName: db-credentials",
        "token_url: https://auth.example.com/token",
        "author: Jane",
        "the key: value pairs",
        "api_version = \"2024-01-01\"",
        "<input type=\"password\" name=\"password\" id=\"password\">",
    ] {
        stays(text);
    }
}

#[test]
fn what_is_typed_goes() {
    for (text, expected) in [
        ("mysql -u root -pk7Trombo db", "mysql -u root -p[redacted: password] db"),
        ("sshpass -p 'k7Trombo' ssh h", "sshpass -p '[redacted: password]' ssh h"),
        ("docker login -u me -p k7Trombo r.example", "docker login -u me -p [redacted: password] r.example"),
        ("curl -u me:k7Trombo https://h", "curl -u me:[redacted: password] https://h"),
        ("redis-cli -h c -a k7Trombo ping", "redis-cli -h c -a [redacted: password] ping"),
        ("machine h login me password k7Trombo", "machine h login me password [redacted: password]"),
        ("  password k7Trombo", "  password [redacted: password]"),
        ("CREATE USER u IDENTIFIED BY 'k7Trombo';", "CREATE USER u IDENTIFIED BY '[redacted: password]';"),
        ("ALTER USER u PASSWORD 'k7Trombo';", "ALTER USER u PASSWORD '[redacted: password]';"),
        ("localhost:5432:db:me:k7Trombo", "localhost:5432:db:me:[redacted: password]"),
        ("openssl rsa -passin pass:k7Trombo", "openssl rsa -passin pass:[redacted: password]"),
    ] {
        check(text, expected);
    }
    for text in [
        "mkdir -p src/deep",
        "ssh -p 2222 h",
        "mysql -u root -p db",
        "cp -p a b",
        "curl -u me https://h",
        "docker run -p 8080:80 x",
    ] {
        stays(text);
    }
}

#[test]
fn a_private_key_goes_whole_however_it_is_written() {
    let body = "MIIEk7Trombo9k7Trombo9k7Trombo9k7Trombo9k7Trombo9+/k7Trombo9abcd";
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\nabc=\n-----END RSA PRIVATE KEY-----");
    let mark = "[redacted: private key]";
    check(&format!("a\n{key}\nb"), &format!("a\n{mark}\nb"));
    check(&key.replace('\n', "\r\n"), mark);
    check(&format!("{{\"k\":\"{}\\n\"}}", key.replace('\n', "\\n")), &format!("{{\"k\":\"{mark}\\n\"}}"));
    check(&format!("key: |\n  {}\nb: 1", key.replace('\n', "\n  ")), &format!("key: |\n  {mark}\nb: 1"));
    check(&format!("+{}\n+x y", key.replace('\n', "\n+")), &format!("+{mark}\n+x y"));
    check(&format!("     1\t{}", key.replace('\n', "\n     2\t")), &format!("     1\t{mark}"));
    let headers = key.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n", 1);
    check(&headers, mark);
    check(&headers.replace('\n', "\\n"), mark);
    let cut = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n{body}\n");
    check(&cut, &format!("{mark}\n"));
    check(&format!("{cut}$ ls -l\n"), &format!("{mark}\n$ ls -l\n"));
    check(&cut[..80], mark);
}

#[test]
fn what_is_said_about_keys_stays() {
    for text in [
        "-----BEGIN CERTIFICATE-----\nMIIEk7Trombo9k7Trombo9k7Trombo9\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIEk7Trombo9\n-----END PUBLIC KEY-----",
        "if line.startswith('-----BEGIN RSA PRIVATE KEY-----'):\n    pass",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----x",
        "-----BEGIN RSA PRIVATE KEY-----",
    ] {
        let redactor = Redactor::builder().build();
        let redacted = redactor.redact(text).text.into_owned();
        assert!(redacted == text || text.contains("...") && redacted.contains("..."), "{redacted}");
    }
}

#[test]
fn secret_variables_are_found_wherever_their_values_stand() {
    let variables = [
        ("APP_TOKEN", "blue-horse-42-lamp"),
        ("HOME_KEY", "/home/u/key"),
        ("PLAIN_PASSWORD", "password"),
        ("SHORT_KEY", "ab12"),
        ("PORT_KEY", "12345678"),
        ("PATH", "blue-horse-77-lamp"),
        ("ODD", "green-horse-42-lamp"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let redactor = Redactor::builder().variables(variables).names(["ODD".to_owned()]).build();
    let text = "blue-horse-42-lamp /home/u/key password ab12 12345678 blue-horse-77-lamp green-horse-42-lamp";
    assert_eq!(
        redactor.redact(text).text,
        "[redacted: known secret] /home/u/key password ab12 12345678 blue-horse-77-lamp [redacted: known secret]"
    );
}

#[test]
fn json_is_searched_by_strings_and_by_names() {
    let redactor = Redactor::builder().secret("k7Trombo").build();
    let mut value = json!({
        "password": "trombone",
        "nested": [{ "api_key": "0a1b2c3d4e", "note": "it is k7Trombo" }],
        "token_count": 3,
        "token": "$TOKEN",
        "text": "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    });
    let found = redactor.redact_json(&mut value);
    let expected = json!({
        "password": "[redacted: password]",
        "nested": [{ "api_key": "[redacted: secret]", "note": "it is [redacted: known secret]" }],
        "token_count": 3,
        "token": "$TOKEN",
        "text": "[redacted: github token]"
    });
    assert_eq!(value, expected);
    assert_eq!(found.count(), 4);
    assert_eq!(redactor.redact_json(&mut value).count(), 0, "a second time");
}

#[test]
fn what_was_found_is_counted_by_kind() {
    let redactor = Redactor::builder().build();
    let found = redactor.redact("password=k7Trombo9 password=k7Trombo8 X-Api-Key: k7Trombo9k7").found;
    assert_eq!((found.count(), found.kinds().collect::<Vec<_>>()), (3, vec!["password", "secret"]));
}
