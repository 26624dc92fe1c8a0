//! Private keys whose lines have something around them, or whose beginning is not in sight.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use haft_redact::{Redactor, Stream};

/// Bytes that look random, always the same.
fn bytes(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// The lines of a body, in base64.
fn body(width: usize, count: usize) -> Vec<String> {
    let all = STANDARD.encode(bytes(count));
    all.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// As a whole and cut anywhere, nothing of the lines is left and everything else is.
#[track_caller]
fn check(text: &str, lines: &[String], keep: &[&str]) {
    let redactor = Arc::new(Redactor::builder().build());
    let clean = redactor.redact(text).text.into_owned();
    for line in lines {
        let middle = &line[line.len() / 4..(line.len() / 4 + 12).min(line.len())];
        assert!(!clean.contains(middle), "{middle} is left of\n{text}\nwhich became\n{clean}");
    }
    keep.iter().for_each(|part| assert!(clean.contains(part), "{part} is gone from\n{clean}"));
    assert_eq!(redactor.redact(&clean).text, clean, "a second time");
    for step in [1, 7, 61, 64, 65, 66, 130, 500] {
        let (mut stream, mut out) = (Stream::new(redactor.clone()), Vec::new());
        text.as_bytes().chunks(step).for_each(|piece| stream.push_bytes(piece, &mut out));
        stream.finish_bytes(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), clean, "in pieces of {step}");
    }
}

fn each(lines: &[String], write: impl Fn(usize, &str) -> String) -> String {
    lines.iter().enumerate().map(|(index, line)| write(index, line) + "\n").collect()
}

#[test]
fn lines_of_a_key_go_behind_any_margin() {
    for width in [64, 70] {
        let lines = body(width, 420);
        let key: Vec<String> = [
            vec!["-----BEGIN PRIVATE KEY-----".to_owned()],
            lines.clone(),
            vec!["-----END PRIVATE KEY-----".to_owned()],
        ]
        .concat();
        let end = "END PRIVATE KEY";
        check(
            &each(&key, |n, line| format!("certs/key.pem:{}:{line}", n + 1)),
            &lines,
            &["certs/key.pem:3:"],
        );
        check(
            &each(&key, |n, line| format!("certs/key.pem-{}-{line}", n + 1)),
            &lines,
            &["certs/key.pem-3-"],
        );
        let blame =
            |n, line: &str| format!("^1f3b2c4 (A U Thor 2026-01-02 03:04:05 +0000 {:>2}) {line}", n + 1);
        check(&each(&key, blame), &lines, &["A U Thor", " 3) "]);
        check(&each(&key, |n, line| format!("{:>6}\t{line}", n + 1)), &lines, &[]);
        check(&each(&lines, |n, line| format!("{:>6}  {line}", n + 2)), &lines, &["     3  "]);
        check(&each(&key, |_, line| format!("{line}$")), &lines, &[]);
        check(&each(&lines, |_, line| format!("+{line}")), &lines, &[]);
        check(&each(&lines, |_, line| format!("-{line}")), &lines, &[]);
        check(&each(&key, |_, line| format!("  '{line}\\n' +")), &lines, &["' +", end]);
        check(&each(&key, |_, line| format!("    \"{line}\\n\"")), &lines, &[end]);
        check(&each(&key, |_, line| format!("// {line}")), &lines, &["// "]);
        check(&each(&key, |_, line| format!("{line}    |  {line}")), &lines, &[]);
        check(&format!("a\n{}b\n", each(&lines, |_, line| line.to_owned())), &lines, &["a\n", "\nb\n"]);
        check(&each(&lines[2..], |_, line| line.to_owned()), &lines[2..], &[]);
        check(&format!("{}$ ls\n", each(&lines[..3], |_, line| line.to_owned())), &lines[..3], &["$ ls"]);
        check(&format!("key: \"{}\"", lines.join("\\n")), &lines, &["key: "]);
        let crlf = each(&key, |n, line| format!("k.pem:{}:{line}\r", n + 1));
        check(&crlf, &lines, &["k.pem:3:"]);
    }
}

#[test]
fn base64_of_a_key_goes_in_one_line_and_in_many() {
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n",
        body(64, 300).join("\n")
    );
    let all = STANDARD.encode(&key);
    check(&format!("    client-key-data: {all}\n"), &[all.clone()], &["client-key-data: "]);
    check(&format!("X: {all}\n"), &[all.clone()], &["X: "]);
    let lines: Vec<String> =
        all.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    check(&lines.join("\n"), &lines, &[]);
}

#[test]
fn a_putty_key_and_a_web_key_go() {
    let lines = body(64, 300);
    let text = format!(
        "PuTTY-User-Key-File-3: ssh-rsa\nPublic-Lines: 2\nAAAAB3NzaC1yc2E\nPrivate-Lines: {}\n{}\nPrivate-MAC: 0a1b\n",
        lines.len(),
        lines.join("\n")
    );
    check(&text, &lines, &["AAAAB3NzaC1yc2E", "Private-MAC"]);
    let short = vec!["AAAAIDq3Zk9TromBoXw7Lm2Np5Rs8Vt1Yc4Bf6Hj0Kd=".to_owned()];
    check(&format!("Private-Lines: 1\n{}\nPrivate-MAC: 1\n", short[0]), &short, &["Private-Lines: 1"]);
    let secret = vec!["Zk9TromBoXw7Lm2Np5Rs8Vt1Yc4Bf6Hj0KdQ3aGnEuIo".to_owned()];
    for text in [
        format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"{}\",\"x\":\"abc\"}}", secret[0]),
        format!("{{\n  \"kty\": \"EC\",\n  \"d\": \"{}\",\n  \"x\": \"abc\"\n}}", secret[0]),
    ] {
        check(&text, &secret, &["\"kty\"", "abc"]);
    }
}

#[test]
fn one_line_of_a_key_is_known_by_how_it_begins() {
    let rest = &body(64, 300)[0][..40];
    for begin in ["MIIEowIBAAKCAQEA", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "b3BlbnNzaC1rZXktdjEA", "MHcCAQEEI"]
    {
        check(&format!("k.pem:2:{begin}{rest}\n"), &[rest.to_owned()], &["k.pem:2:"]);
    }
}

#[test]
fn certificates_public_keys_and_pictures_stay() {
    let lines = body(64, 420);
    let wide = body(76, 420);
    let redactor = Redactor::builder().build();
    for text in [
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n")),
        format!(
            "c.pem:1:-----BEGIN CERTIFICATE-----\n{}",
            each(&lines, |n, line| format!("c.pem:{}:{line}", n + 2))
        ),
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n")),
        format!(
            "-----BEGIN PGP SIGNATURE-----\n\n{}\n=abcd\n-----END PGP SIGNATURE-----\n",
            lines.join("\n")
        ),
        format!("iVBORw0KGgo{}\n{}\n", &wide[0][11..], wide[1..].join("\n")),
        each(&body(45, 420), |_, line| line.to_owned()),
        format!("one line alone: {}\n", lines[0]),
        each(&lines, |_, line| line.to_ascii_lowercase()),
        "a".repeat(64) + "\n" + &"b".repeat(64) + "\n",
    ] {
        assert_eq!(redactor.redact(&text).text, text);
    }
}
