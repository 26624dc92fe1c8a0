//! The shapes in which programs print secrets, and what looks like them. The secret of every case holds `Trombo`, and
//! what stays of the line is written out.

use haft_redact::Redactor;

/// What is printed, and what of it must still be there.
#[track_caller]
fn hides(cases: &[(&str, &str)]) {
    let redactor = Redactor::builder().build();
    let mut wrong = Vec::new();
    for (text, keep) in cases {
        let clean = redactor.redact(text).text.into_owned();
        let is_twice_the_same = redactor.redact(&clean).text == clean;
        if clean.contains("Trombo") || !clean.contains(keep) || !is_twice_the_same {
            wrong.push(format!("{text:?}\n  became {clean:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[track_caller]
fn leaves(cases: &[&str]) {
    let redactor = Redactor::builder().build();
    let wrong: Vec<_> = cases.iter().map(|text| redactor.redact(text).text).zip(cases).collect();
    let wrong: Vec<_> = wrong.iter().filter(|(clean, text)| clean != *text).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_source_declares_and_defines_is_found() {
    hides(&[
        ("let api_key: &'static str = \"k7Trombo9x2Yz4Qw8\";", "let api_key: &'static str = \""),
        ("const apiKey: string = 'k7Trombo9x2Yz4Qw8';", "const apiKey: string = '"),
        ("    client_secret: Optional[str]=\"k7Trombo9x2Yz4Qw8\"", "Optional[str]=\""),
        ("define('DB_PASSWORD', 'Trombone-7');", "define('DB_PASSWORD', '"),
        ("setenv(\"API_KEY\", \"k7Trombo9x2Yz4Qw8\", 1);", "setenv(\"API_KEY\", \""),
        ("SECRET_KEY_BASE=k7Trombo9x2Yz4Qw8\n", "SECRET_KEY_BASE="),
    ]);
}

#[test]
fn settings_files() {
    hides(&[
        ("//registry.example/:_authToken=k7Trombo9-zz81", "_authToken="),
        ("//registry.example/:_password=azdUcm9tYm8-k7Trombo", "_password="),
        ("_auth=dXNlcjprN1Ryb21iTrombo9=", "_auth="),
        ("//registry.example/:_auth = \"dXNlcjprN1Ryb21iTrombo9\"", "_auth"),
        ("[pypi]\nusername = __token__\npassword = k7Trombo9zz", "username = __token__"),
        ("machine api.example\n  login me\n  password k7Trombo9", "login me"),
        ("machine api.example login me password k7Trombo9 account x", "account x"),
        ("default login me password k7Trombo9", "login me"),
        ("db.example:5432:app:me:k7Trombo9", "db.example:5432:app:me:"),
        ("*:*:app:me:k7Trombo9-Zq1", "app:me:"),
        ("localhost:5433:*:me:k7Trombo9", "localhost:5433:*:me:"),
        (
            "[default]\naws_access_key_id = AKIA2B3C4D5E6F7G2H3I\naws_secret_access_key = k7TromboQ9zzWq7TrOmbo12abCDefGH34ijklMN",
            "[default]",
        ),
        ("aws_session_token=FwoGZXIvYXdzEk7Trombo9zzk7Trombo9zz//8x", "aws_session_token="),
        ("Server=db;Database=app;User Id=sa;Password=k7Trombo9!;Encrypt=true", "Encrypt=true"),
        ("Data Source=db;User ID=sa;Pwd=k7Trombo9;", "User ID=sa"),
        ("jdbc:sqlserver://db:1433;user=sa;password=k7Trombo9;encrypt=true", "encrypt=true"),
        ("jdbc:mysql://db/app?user=me&password=k7Trombo9&ssl=1", "ssl=1"),
        ("host=db user=me password=k7Trombo9 dbname=app", "dbname=app"),
        (
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=k7TromBoTrombo9k7TromBo9k7Tr==;EndpointSuffix=core",
            "AccountName=a",
        ),
        (
            "Endpoint=sb://a.example/;SharedAccessKeyName=n;SharedAccessKey=k7TromboTrombo9k7TromBo9k7Tr=",
            "SharedAccessKeyName=n",
        ),
        ("spring.datasource.password=k7Trombo9", "spring.datasource.password="),
        ("requirepass k7Trombo9zz", "requirepass"),
        ("    db_password: \"k7Trombo9\" # for the tests", "# for the tests"),
        ("smtp_pass = k7Trombo9zz", "smtp_pass"),
        ("<add name=\"c\" connectionString=\"Server=s;Password=k7Trombo9;\" />", "connectionString="),
        ("<server><username>me</username><password>k7Trombo9</password></server>", "<username>me</username>"),
        ("  <secretKey>k7Trombo9zz81</secretKey>", "secretKey"),
        ("encryption_key = \"k7Trombo9zz81Trombo9zz81\"", "encryption_key"),
        ("SECRET_KEY = 'django-insecure-k7trombo9$Trombo@zz81'", "SECRET_KEY"),
        ("export OPENAI_API_KEY=\"k7Trombo9-zz81\"", "export OPENAI_API_KEY="),
        ("set DB_PASSWORD=k7Trombo9", "set DB_PASSWORD="),
        ("setx API_TOKEN \"k7Trombo9zz81\"", "setx"),
        ("$env:API_TOKEN = \"k7Trombo9zz81\"", "$env:API_TOKEN"),
        ("ENV DB_PASSWORD k7Trombo9", "ENV DB_PASSWORD"),
        ("ARG NPM_TOKEN=k7Trombo9zz81", "ARG NPM_TOKEN="),
    ]);
}

#[test]
fn what_tools_print() {
    hides(&[
        ("> Authorization: Basic bWU6azdUcm9tYm8Trombo=\r\n> Accept: */*", "> Accept: */*"),
        ("> authorization: Bearer k7Trombo9zz81\r", "> authorization: Bearer "),
        ("< set-cookie: session=k7Trombo9zz81; Path=/; HttpOnly", "Path=/; HttpOnly"),
        ("> Cookie: csrftoken=k7Trombo9; theme=dark", "theme=dark"),
        ("> X-Auth-Token: k7Trombo9zz81", "X-Auth-Token"),
        ("> PRIVATE-TOKEN: k7Trombo9zz81", "PRIVATE-TOKEN"),
        ("> Proxy-Authorization: Basic bWU6azdUcm9tYm8Trombo=", "Proxy-Authorization: Basic"),
        ("origin\thttps://me:k7Trombo9@git.example/a/b.git (fetch)", "git.example/a/b.git (fetch)"),
        ("origin\thttps://k7TromBo9k7TroMbo9Trombo@git.example/a.git (push)", "git.example/a.git (push)"),
        ("origin  https://oauth2:k7Trombo9zz@gitlab.example/a.git", "gitlab.example"),
        ("            \"Env\": [\"PATH=/bin\", \"DB_PASSWORD=k7Trombo9\", \"X=1\"]", "\"X=1\""),
        ("                \"POSTGRES_PASSWORD=k7Trombo9\",", "\"POSTGRES_PASSWORD="),
        ("  password: azdUcm9tYTrombo5", "password:"),
        ("data:\n  token: ZXlKaGJHTromboaU9pSlNVek==\n  user: bWU=", "user: bWU="),
        ("- name: DB_PASSWORD\n  value: k7Trombo9", "- name: DB_PASSWORD\n  value: "),
        (
            "            - name: API_KEY\n              value: \"k7Trombo9zz81\"\n            - name: X",
            "- name: X",
        ),
        (
            "        {\n          \"name\": \"DB_PASSWORD\",\n          \"value\": \"k7Trombo9\"\n        },",
            "\"value\": \"",
        ),
        ("{\"Name\":\"DB_PASSWORD\",\"Value\":\"k7Trombo9\"}", "\"Name\":\"DB_PASSWORD\""),
        ("{\"key\": \"api_token\", \"value\": \"k7Trombo9zz81\"}", "api_token"),
        ("      DB_PASSWORD:  k7Trombo9", "DB_PASSWORD:"),
        ("sqlalchemy.exc.OperationalError: (conn) postgresql://me:k7Trombo9@db:5432/app", "@db:5432/app"),
        ("  File \"a.py\", line 3, in f\n    connect(password='k7Trombo9', host='db')", "host='db'"),
        (
            "E   requests.HTTPError: 401 for url: https://a.example/x?access_token=k7Trombo9zz81&page=2",
            "&page=2",
        ),
        ("Error: login failed {\"user\":\"me\",\"password\":\"k7Trombo9\"}", "\"user\":\"me\""),
        ("level=debug msg=\"dial\" password=k7Trombo9 attempt=1", "attempt=1"),
        ("\x1b[33mpassword\x1b[0m: \x1b[32mk7Trombo9\x1b[0m", "password"),
        ("\x1b[36mDB_PASSWORD\x1b[39m=\x1b[32m'k7Trombo9'\x1b[39m", "DB_PASSWORD"),
        ("\x1b[1mtoken\x1b[0m=k7Trombo9zz81", "token"),
        ("{\x1b[34;1m\"password\"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m\"k7Trombo9\"\x1b[0m}", "password"),
        ("q=1&password=k7Trombo9%21&next=%2F", "next=%2F"),
        ("redirect=https%3A%2F%2Fme%3Ak7Trombo9%40db.example%2Fx", "db.example"),
        ("u=%7B%22password%22%3A%22k7Trombo9%22%7D", "password"),
        ("\"{\\\"password\\\": \\\"k7Trombo9\\\", \\\"user\\\": \\\"me\\\"}\"", "me"),
        ("'{\\\\\"password\\\\\": \\\\\"k7Trombo9\\\\\"}'", "password"),
        ("{'password': 'k7Trombo9', 'user': 'me'}", "'user': 'me'"),
        ("User(name='me', password='k7Trombo9')", "name='me'"),
        ("Config { user: \"me\", password: \"k7Trombo9\" }", "user: \"me\""),
        ("map[password:k7Trombo9 user:me]", "user:me"),
        ("Some(Secret(\"x\")) api_key: Some(\"k7Trombo9zz81\")", "api_key"),
        (":password => \"k7Trombo9\", :user => \"me\"", "me"),
        ("password=>'k7Trombo9'", "password"),
        ("| password | k7Trombo9 |", "password"),
        ("password\tk7Trombo9", "password"),
        ("+DB_PASSWORD=k7Trombo9\n-DB_PASSWORD=k6Trombo8", "+DB_PASSWORD="),
        ("  12\tDB_PASSWORD=k7Trombo9", "DB_PASSWORD="),
        ("config.yml:12:  password: k7Trombo9", "config.yml:12:"),
        ("curl -H \"X-Api-Key: k7Trombo9zz81\" https://a.example", "https://a.example"),
    ]);
}

#[test]
fn what_is_typed() {
    hides(&[
        ("+ mysql -h db -u root -pk7Trombo9 app", "-u root"),
        ("mysql --user=root --password=k7Trombo9 app", "--user=root"),
        ("mysqldump -uroot -p'k7Trombo9' app > x.sql", "app > x.sql"),
        ("MYSQL_PWD=k7Trombo9 mysql -u root", "mysql -u root"),
        ("PGPASSWORD=k7Trombo9 psql -h db", "psql -h db"),
        ("sshpass -p k7Trombo9 ssh me@h", "ssh me@h"),
        ("sshpass -pk7Trombo9 ssh me@h", "ssh me@h"),
        ("curl -u me:k7Trombo9 https://a.example", "https://a.example"),
        ("curl -sS --user 'me:k7Trombo9' https://a.example", "https://a.example"),
        ("curl -ume:k7Trombo9 https://a.example", "https://a.example"),
        ("curl --proxy-user me:k7Trombo9 https://a.example", "https://a.example"),
        ("curl -b 'session=k7Trombo9zz81' https://a.example", "https://a.example"),
        ("curl -d 'user=me&password=k7Trombo9' https://a.example", "https://a.example"),
        ("wget --user me --password k7Trombo9 https://a.example", "--user me"),
        ("wget --http-password=k7Trombo9 https://a.example", "https://a.example"),
        ("http -a me:k7Trombo9 a.example", "a.example"),
        ("htpasswd -b .htpasswd me k7Trombo9", "htpasswd -b .htpasswd me"),
        ("htpasswd -cbB users me k7Trombo9", "users me"),
        ("docker login -u me --password k7Trombo9 r.example", "r.example"),
        ("docker run -e DB_PASSWORD=k7Trombo9 -p 80:80 x", "-p 80:80 x"),
        ("redis-cli -a k7Trombo9 ping", "ping"),
        ("mongosh -u me -p k7Trombo9 --host db", "--host db"),
        ("psql \"host=db password=k7Trombo9 user=me\"", "user=me"),
        ("openssl enc -aes-256-cbc -k k7Trombo9 -in a", "-in a"),
        ("openssl pkcs12 -in a.p12 -passin pass:k7Trombo9 -nodes", "-nodes"),
        ("az login --service-principal -u id -p k7Trombo9zz -t x", "-u id"),
        ("gh auth login --with-token k7Trombo9zz81", "gh auth login"),
        ("git clone https://me:k7Trombo9@git.example/a.git", "git.example/a.git"),
        ("helm install x --set db.password=k7Trombo9,db.user=me", "db.user=me"),
        ("kubectl create secret generic s --from-literal=password=k7Trombo9", "--from-literal=password="),
        ("ansible-playbook -e 'db_password=k7Trombo9' x.yml", "x.yml"),
        ("CREATE USER 'me'@'%' IDENTIFIED BY 'k7Trombo9';", "'me'@'%'"),
        ("CREATE ROLE me WITH LOGIN PASSWORD 'k7Trombo9';", "CREATE ROLE me"),
        ("ALTER LOGIN sa WITH PASSWORD = 'k7Trombo9';", "ALTER LOGIN sa"),
        ("SET PASSWORD FOR 'me'@'%' = PASSWORD('k7Trombo9');", "SET PASSWORD FOR"),
        ("keytool -genkey -storepass k7Trombo9 -alias a", "-alias a"),
        ("ldapsearch -x -D cn=me -w k7Trombo9 -b dc=x", "-b dc=x"),
        ("smbclient //h/s -U me%k7Trombo9", "-U me%"),
        ("npm config set //r.example/:_authToken k7Trombo9zz81", "_authToken"),
        ("aws configure set aws_secret_access_key k7Trombo9zz81k7Trombo9zz81", "aws_secret_access_key"),
        ("git config --global user.password k7Trombo9", "user.password"),
        ("7z x -pk7Trombo9 a.7z", "a.7z"),
        ("zip -P k7Trombo9 a.zip b", "a.zip b"),
    ]);
}

#[test]
fn look_alikes_stay() {
    leaves(&[
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "<img src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\">",
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.",
        "!function(e,t){var n=e.key,r=t.token;return n&&r?n+r:e.pass(t)}(a,b);",
        "interface Login { user: string; password: string; token?: string | null }",
        "type Auth = { password: string, apiKey: string }",
        "token_count: 1234, total_tokens=55, prompt_tokens: 12",
        "secret: true",
        "secrets: inherit",
        "API_KEY=<your-token>",
        "token: ***",
        "password: ${DB_PASSWORD}",
        "const token = process.env.API_TOKEN;",
        "token = os.environ['TOKEN']",
        "let secret = std::env::var(\"SECRET\")?;",
        "api_key = ENV.fetch(\"API_KEY\")",
        "password: !vault |",
        "ssh_private_key_path: /home/me/.ssh/id_ed25519",
        "https://example.com/reset-password?step=2",
        "https://example.com:8443/path#token",
        "git@github.com:acme/app.git",
        "password_reset_timeout = 259200",
        "keyboard: us",
        "key: value",
        "cache-key: node-modules-linux-9f86d081884c7d65",
        "sort_key=created_at",
        "public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@h",
        "password: [redacted]",
        "Password:",
        "Enter passphrase for key '/home/me/.ssh/id_rsa':",
        "error: password authentication failed for user \"app\"",
        "The token expired at 2026-01-02T03:04:05Z.",
        "tokenizer: cl100k_base",
        "def login(user, password=None, token=''):",
        "if password != confirm_password:",
        "self.password = password",
        "password = input('Password: ')",
        "auth: required",
        "Authorization: Bearer {token}",
        "curl -H \"Authorization: Bearer $TOKEN\" https://a.example",
        "curl -u \"$USER:$PASS\" https://a.example",
        "mysql -u root -p app",
        "docker run -p 8080:80 nginx",
        "mkdir -p a/b/c && cp -p x y",
        "ssh -p 2222 me@h",
        "ps -u root",
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n      key: password",
        "- name: LOG_LEVEL\n  value: debug",
        "- name: DB_PASSWORD\n  value: $(DB_PASSWORD)",
        "AWS_SECRET_ACCESS_KEY: ${{ secrets.AWS_SECRET_ACCESS_KEY }}",
        "$ echo $?\n0",
        "12:34:56 INFO auth: user me logged in",
        "author = \"Jane Doe <jane@example.com>\"",
        "ETag: \"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
        "Set-Cookie: lang=en; Path=/",
        "x = tokens[0].kind == Kind::Secret",
        "passed: 12, failed: 0, skipped: 3",
        "PASS src/app.test.ts (5.2 s)",
        "bypass=true compass: north",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
        "jti: 7f3e2a, sub: 1234567890",
        "Key Bindings: ctrl+k, ctrl+s",
        "primaryKey: user_id_2024_01",
        "license key: see LICENSE.md",
        "mailto:me@example.com?subject=password",
    ]);
}
