//! Secrets that are told by where they stand: as the fallback of a variable, as an argument behind a user, before a program
//! that reads a password. The secret of every row stands in its second column.

use haft_redact::Redactor;

#[track_caller]
fn hides(rows: &[(&str, &str)]) {
    let redactor = Redactor::builder().build();
    let wrong: Vec<_> = rows
        .iter()
        .filter_map(|(text, secret)| {
            assert!(text.contains(secret), "{secret:?} is not in {text:?}");
            let clean = redactor.redact(text).text.into_owned();
            let around = text.split(secret).next().unwrap_or_default();
            let is_right = !clean.contains(secret) && clean.starts_with(around);
            (!is_right || redactor.redact(&clean).text != clean)
                .then(|| format!("{text:?}\n  became {clean:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} are wrong\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[track_caller]
fn leaves(texts: &[&str]) {
    let redactor = Redactor::builder().build();
    for text in texts {
        assert_eq!(redactor.redact(text).text, *text);
    }
}

#[test]
fn fallback_values_go() {
    hides(&[
        ("os.environ.get('DB_PASSWORD', 'Tr0mb&lamp7')", "Tr0mb&lamp7"),
        ("os.getenv(\"SECRET_KEY\", default=\"k7TromBo9Zq2LmN4\")", "k7TromBo9Zq2LmN4"),
        ("os.getenv(\"SECRET_KEY\") or \"k7TromBo9Zq2LmN4\"", "k7TromBo9Zq2LmN4"),
        ("process.env.API_KEY || \"k7TromBo9Zq2LmN4\"", "k7TromBo9Zq2LmN4"),
        ("process.env['API_KEY'] ?? 'k7TromBo9Zq2LmN4'", "k7TromBo9Zq2LmN4"),
        ("getenv(\"API_KEY\") ?: \"k7TromBo9Zq2LmN4\"", "k7TromBo9Zq2LmN4"),
        (
            "Optional.ofNullable(System.getenv(\"API_TOKEN\")).orElse(\"k7TromBo9Zq2LmN4\")",
            "k7TromBo9Zq2LmN4",
        ),
        ("ENV.fetch('API_TOKEN') { 'k7TromBo9Zq2LmN4' }", "k7TromBo9Zq2LmN4"),
        ("env::var(\"API_TOKEN\").unwrap_or(\"k7TromBo9Zq2LmN4\".into())", "k7TromBo9Zq2LmN4"),
        (
            "env::var(\"API_TOKEN\").unwrap_or_else(|_| String::from(\"k7TromBo9Zq2LmN4\"))",
            "k7TromBo9Zq2LmN4",
        ),
        ("$ENV{API_KEY} // 'k7TromBo9Zq2LmN4'", "k7TromBo9Zq2LmN4"),
        ("{{ .Values.password | default \"Tr0mb&lamp7\" }}", "Tr0mb&lamp7"),
        ("parser.add_argument('--password', default='Tr0mb&lamp7')", "Tr0mb&lamp7"),
    ]);
    leaves(&[
        "os.environ.get('API_KEY_HEADER', 'X-Api-Key')",
        "process.env.API_KEY || config.apiKey",
        "process.env.API_KEY || \"your-api-key\"",
        "os.getenv('TOKEN_URL', 'https://x.org/token')",
        "parser.add_argument('--password', help='the password to use')",
        "let token = next; // \"k7TromBo9Zq2LmN4\"",
    ]);
}

#[test]
fn passwords_behind_a_user_go() {
    hides(&[
        ("HTTPBasicAuth('admin','Tr0mb&lamp7')", "Tr0mb&lamp7"),
        ("request.get(url).auth('joe', 'Tr0mbLamp7x')", "Tr0mbLamp7x"),
        ("requests.get(u, auth=('joe', 'Tr0mb&lamp7'))", "Tr0mb&lamp7"),
        (".basic_auth(\"user\", Some(\"Tr0mb&lamp7\"))", "Tr0mb&lamp7"),
        ("smtp.login(\"me@x.org\", \"Tr0mb&lamp7\")", "Tr0mb&lamp7"),
        ("request.basic_auth 'u', 'Tr0mb&lamp7'", "Tr0mb&lamp7"),
        ("new NetworkCredential(\"u\", \"Tr0mb&lamp7\")", "Tr0mb&lamp7"),
        ("DriverManager.getConnection(url, \"root\", \"Tr0mb&lamp7\")", "Tr0mb&lamp7"),
        ("mysqli_connect(\"h\", \"root\", \"Tr0mb&lamp7\", \"db\")", "Tr0mb&lamp7"),
    ]);
    leaves(&[
        "HTTPBasicAuth(user, password)",
        "HTTPBasicAuth('user', 'pass')",
        "app.auth('google', 'callback')",
        "router.login('/login', 'loginHandler')",
        "page.login('username', 'password')",
        "failWebsocketConnection(this.ws, 'Received payload length > 2^31 bytes.')",
        "this.login(user, 'Took 250 ms (max. 3)')",
    ]);
}

#[test]
fn what_is_piped_into_a_login_goes() {
    hides(&[
        ("echo Tr0mbLamp7x | docker login --password-stdin -u x", "Tr0mbLamp7x"),
        ("$ echo -n \"lantern seven\" | docker login -u x --password-stdin r.test", "lantern seven"),
        ("printf '%s' 'Tr0mb&lamp7' | docker login --password-stdin", "Tr0mb&lamp7"),
        ("echo Tr0mbLamp7x | sudo -S ls", "Tr0mbLamp7x"),
        ("echo 'Tr0mb&lamp7' | gh auth login --with-token", "Tr0mb&lamp7"),
        ("docker login --password-stdin <<< Tr0mbLamp7x", "Tr0mbLamp7x"),
        ("echo 'root:Tr0mb&lamp7' | chpasswd", "Tr0mb&lamp7"),
        ("cd x && echo Tr0mbLamp7x | gpg --batch --passphrase-fd 0 -d a", "Tr0mbLamp7x"),
    ]);
    leaves(&[
        "echo $TOKEN | docker login --password-stdin",
        "cat token | docker login --password-stdin",
        "echo \"${DOCKER_PASSWORD}\" | docker login -u x --password-stdin",
        "echo ${{ secrets.X }} | docker login --password-stdin",
        "echo \"root:$PW\" | chpasswd",
        "echo one | cat | docker login --password-stdin",
    ]);
}

#[test]
fn names_in_other_languages_and_joined_ones_are_known() {
    hides(&[
        ("\u{41f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}: Tr0mbLamp7x", "Tr0mbLamp7x"),
        ("\u{30d1}\u{30b9}\u{30ef}\u{30fc}\u{30c9}\u{ff1a}Tr0mbLamp7x", "Tr0mbLamp7x"),
        ("\u{5bc6}\u{7801}: Tr0mbLamp7x", "Tr0mbLamp7x"),
        ("passwort: Tr0mbLamp7x", "Tr0mbLamp7x"),
        ("userpass: Tr0mbLamp7x", "Tr0mbLamp7x"),
        ("DBPASS=Tr0mbLamp7x", "Tr0mbLamp7x"),
        ("pin_code: 483920", "483920"),
        ("PIN_CODE=48392011", "48392011"),
        ("secret: !vault k7TromBo9Zq2LmN4", "k7TromBo9Zq2LmN4"),
    ]);
    leaves(&[
        "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}: \u{43d}\u{435}\u{442}",
        "\u{5bc6}\u{7801}\u{ff1a}\u{7528}\u{6237}\u{5bc6}\u{7801}",
        "passwort: string",
        "pin_code: int",
        "bypass: enabled9x7",
        "compass: k7Zq2LmN4",
        "let userpass = user.pass",
        "secret: !vault my/path",
        "password: !Ref DbPassword",
        "password: !GetAtt Secret.Value",
    ]);
}
