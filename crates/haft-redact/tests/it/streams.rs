//! However a text is cut, the same comes out; doing it twice changes nothing; little is kept back.

use std::sync::{Arc, LazyLock};

use haft_redact::{Redactor, Stream};
use proptest::prelude::*;

fn redactor() -> Arc<Redactor> {
    static REDACTOR: LazyLock<Arc<Redactor>> =
        LazyLock::new(|| Arc::new(Redactor::builder().secret("blue-horse-42-lamp").build()));
    REDACTOR.clone()
}

/// A text in pieces: cut at these places, as far as they are places.
fn in_pieces(text: &str, cuts: &[usize]) -> String {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    let (mut stream, mut out) = (Stream::new(redactor()), Vec::new());
    for pair in cuts.windows(2) {
        stream.push_bytes(&text.as_bytes()[pair[0]..pair[1]], &mut out);
        assert!(stream.held() <= Stream::HELD, "{} bytes are held", stream.held());
    }
    stream.finish_bytes(&mut out);
    String::from_utf8(out).expect("what is text stays text")
}

#[track_caller]
fn check(text: &str, cuts: &[usize]) {
    assert_eq!(in_pieces(text, cuts), redactor().redact(text).text, "cut at {cuts:?}");
}

fn key(lines: usize) -> String {
    let body = "MIIEk7Trombo9k7Trombo9k7Trombo9k7Trombo9k7Trombo9+/k7Trombo9abcd\n";
    format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----", body.repeat(lines))
}

/// What texts are made of.
fn pieces() -> impl Strategy<Value = String> {
    let fixed = [
        "password=",
        "token: ",
        "\"secret\": \"",
        "k7Trombo9",
        "k7TromBo9k7TroMbo9",
        "blue-horse-42-lamp",
        "blue-horse",
        "ghp_",
        "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "https://u:",
        "@host/",
        "Authorization: Bearer ",
        "Cookie: sid=",
        "; ",
        "\n",
        "\r\n",
        "\\n",
        "\"",
        "'",
        " ",
        "=",
        ":",
        "&",
        "é",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "MIIEk7Trombo9k7Trombo9",
        "Proc-Type: 4,ENCRYPTED\n",
        "eyJhbGciOiJI",
        ".",
        "sk-",
        "mysql -p",
        "curl -u a:",
        "[redacted: password]",
        "[redacted: ",
        "<password>",
        "</password>",
        "\x1b[32m",
        "AKIA2B3C4D5E6F7G2H3I",
        "\n- name: DB_PASSWORD\n",
        "\n  value: ",
        "%3A%2F%2Fu%3A",
        "%40host",
        "%22%3A%22",
        "| password | ",
        "htpasswd -b f u ",
        ":*:a:b:",
        "$X",
        "x",
        "password: >-\n  ",
        "variable \"db_password\" {\n",
        "\n  default = \"",
        "\nname,password\n",
        "\na,k7TromBo9Zq2Lm\n",
        "\n\n",
        "curl h \\\n",
        "k.pem:2:MIIEk7Trombo9k7Trombo9k7Trombo9k7Trombo9k7Trombo9+/k7Trombo9abcd\n",
        "k.pem:3:Zq2Lm4Xv8k7Trombo9k7Trombo9k7Trombo9k7Trombo9k7T+/k7Trombo9abc==\n",
        "k.pem:4:abQ4Tz0=\n",
        "c:1:-----BEGIN CERTIFICATE-----\n",
        "\u{200b}",
    ];
    prop::collection::vec(prop::sample::select(fixed.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_cutting_gives_the_same(text in pieces(), cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        check(&text, &cuts);
    }

    #[test]
    fn without_its_hidden_ranges_a_text_is_what_is_left_of_it(text in pieces()) {
        let clean = redactor().redact(&text).text.into_owned();
        let (mut left, mut at) = (Vec::new(), 0);
        for (range, _) in redactor().hidden_ranges(&text) {
            prop_assert!(at <= range.start && range.start < range.end);
            left.push(&text[at..range.start]);
            at = range.end;
        }
        left.push(&text[at..]);
        let mut rest = clean.as_str();
        for piece in left {
            let place = rest.find(piece);
            prop_assert!(place.is_some(), "{piece:?} is not in {rest:?}");
            rest = &rest[place.unwrap_or_default() + piece.len()..];
        }
        prop_assert_eq!(clean == text, redactor().hidden_ranges(&text).is_empty());
    }

    #[test]
    fn twice_is_once(text in pieces()) {
        let once = redactor().redact(&text).text.into_owned();
        prop_assert_eq!(&*redactor().redact(&once).text, once.as_str());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_cutting_of_long_lines_gives_the_same(
        text in pieces(),
        lengths in prop::collection::vec(0usize..40_000, 1..4),
        filler in prop::sample::select(vec!["k7Tr", "a ", "é", "{\"a\":1},", "token=k7Trombo9&"]),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let mut whole = String::new();
        for length in lengths {
            whole += &filler.repeat(length / filler.len());
            whole += &text.replace('\n', " ");
        }
        check(&whole, &cuts);
    }
}

#[test]
fn a_secret_is_caught_at_every_cut() {
    let text = "x ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 and blue-horse-42-lamp\nDB_PASSWORD=k7Trombo\n";
    let whole = redactor().redact(text).text.into_owned();
    assert!(!whole.contains("a1B2") && !whole.contains("horse") && !whole.contains("Trombo"));
    (0..text.len()).for_each(|cut| check(text, &[cut]));
}

#[test]
fn a_private_key_of_many_kilobytes_is_caught_at_every_cut_and_hardly_held() {
    let text = format!("before\n{}\nafter\n", key(100));
    assert_eq!(redactor().redact(&text).text, "before\n[redacted: private key]\nafter\n");
    (0..text.len()).step_by(13).for_each(|cut| check(&text, &[cut, cut + 700]));
    let mut stream = Stream::new(redactor());
    stream.push(&text[..4_000]);
    assert!(stream.held() < 100, "the lines of a key are not kept");
}

#[test]
fn what_stands_around_a_key_reads_the_same_however_it_is_cut() {
    let (begin, end) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
    for (text, expected) in [
        // Blanks behind the first line do not hide the key from us.
        (format!("{begin} \t\nMIIEk7Trombo9\n{end}\n"), "[redacted: private key]\n"),
        (format!("{begin} \nsk-{end}"), "[redacted: private key]"),
        // A first line that nothing follows is a word of its line like any other.
        (
            format!("blue-horse-42-lampmysql -p={begin}"),
            "[redacted: known secret]mysql -p[redacted: password] RSA PRIVATE KEY-----",
        ),
        (
            format!("- name: DB_PASSWORD\n  value: k7Trombo9 {begin}\nno key\n"),
            "- name: DB_PASSWORD\n  value: [redacted: password] -----BEGIN RSA PRIVATE KEY-----\nno key\n",
        ),
        (format!("{begin}\n{begin}\nMIIEk7Trombo9{end}{end}"), {
            "-----BEGIN RSA PRIVATE KEY-----\n[redacted: private key]-----END RSA PRIVATE KEY-----"
        }),
        // A key within another secret brings nothing of it back.
        (
            format!(
                "<password>MIIEk7Trombo9k7Trombo9{begin}AKIA2B3C4D5E6F7G2H3I{begin}a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
            ),
            "<password>[redacted: password]",
        ),
        // A word that a key follows at once is judged without it.
        (
            format!("Authorization: Bearer MIIEk7Trombo9k7Trombo9sk-{begin}\n{end}"),
            "Authorization: Bearer [redacted: authorization][redacted: private key]",
        ),
        // Behind a key a line begins, and behind what stands in its place as well.
        (
            format!("curl -u a:{begin}\n{end}sk-curl -u a:k7Trombo9"),
            "curl -u a:[redacted: private key]sk-curl -u a:k7Trombo9",
        ),
    ] {
        let once = redactor().redact(&text).text.into_owned();
        assert_eq!(once, expected, "{text}");
        assert_eq!(redactor().redact(&once).text, once);
        (0..text.len()).for_each(|cut| check(&text, &[cut]));
    }
}

#[test]
fn a_key_that_is_written_in_one_endless_line_does_not_leak() {
    let text = format!("{{\"key\": \"{}\", \"next\": 1}}", key(2_000).replace('\n', "\\n"));
    let out = in_pieces(&text, &[20_000, 40_000, 41_000]);
    assert_eq!(out, "{\"key\": \"[redacted: private key]\", \"next\": 1}");
}

#[test]
fn a_secret_longer_than_what_is_held_is_hidden_to_its_end() {
    let secret = "k7TromBo9Zq".repeat(20_000);
    let text = format!("token={secret} next");
    let out = in_pieces(&text, &[1_000, 50_000, 150_000]);
    assert!(out == "token=[redacted: secret] next", "{} bytes came out", out.len());
}

#[test]
fn a_secret_anywhere_in_an_endless_line_is_caught() {
    for before in [24_000, 24_560, 24_570, 32_700, 32_760, 40_000] {
        let filler = "a, ".repeat(before / 3);
        let text = format!("{filler}\"password\": \"k7Trombo-{before}\", {}", "b, ".repeat(20_000));
        let out = in_pieces(&text, &[before, before + 20]);
        assert!(
            !out.contains("Trombo") && out.contains("\"password\": \"[redacted: password]\""),
            "{before}"
        );
    }
}

#[test]
fn lines_come_as_soon_as_they_are_whole() {
    let mut stream = Stream::new(redactor());
    assert_eq!(stream.push("one\ntw"), "one\n");
    assert_eq!(stream.push("o\n"), "two\n");
    assert_eq!(stream.held(), 0);
}

#[test]
fn bytes_that_are_no_text_stay() {
    let (mut stream, mut out) = (Stream::new(redactor()), Vec::new());
    stream.push_bytes(b"\xff\xfe\x00 password=k7Trombo\xff \xc3\n", &mut out);
    assert_eq!(out, b"\xff\xfe\x00 password=[redacted: password] \xc3\n");
}

#[test]
fn hidden_ranges_are_exactly_the_values() {
    let ranges = |text: &str| {
        redactor()
            .hidden_ranges(text)
            .into_iter()
            .map(|(range, _)| text[range].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ranges("é DB_PASSWORD=k7Trombo9 API_TOKEN=k7Trombo9zz81\nx=1\nblue-horse-42-lamp ü"),
        ["k7Trombo9", "k7Trombo9zz81", "blue-horse-42-lamp"]
    );
    assert_eq!(ranges("nothing here"), Vec::<String>::new());
    assert_eq!(ranges(&format!("a\n{}\nb", key(3))), [key(3)]);
    // What is only found once something else is gone is a range of the text, too.
    let text = "curl -u a:blue-horse-42-lamp mysql -pk7Trombo9";
    assert_eq!(ranges(text), ["blue-horse-42-lamp", "k7Trombo9"]);
}

#[test]
fn hidden_ranges_of_a_long_line_leave_what_is_between() {
    let between = "let x = [1, 2, 3]; ".repeat(4_000);
    let text = format!("DB_PASSWORD=k7Trombo9 {between}DB_PASSWORD=k7Trombo9zz81 {between}\nnext line\n");
    let values: Vec<_> = redactor()
        .hidden_ranges(&text)
        .into_iter()
        .map(|(range, mark)| (text[range].to_owned(), mark))
        .collect();
    let mark = || "[redacted: password]".to_owned();
    assert_eq!(values, [("k7Trombo9".to_owned(), mark()), ("k7Trombo9zz81".to_owned(), mark())]);
}

#[test]
fn the_end_of_one_key_does_not_hide_the_beginning_of_the_next() {
    let text =
        "--.git/---BEGIN RSA PRIVATE KEY-----\nP7Trombo9=k7Trombo9\nx&\n-----END RSA PRIVATE KEY-----\n"
            .repeat(3);
    let clean = redactor().redact(&text).text.into_owned();
    assert_eq!(clean.matches("k7Trombo9").count(), 0, "{clean}");
    for step in [1, 6, 40] {
        let cuts: Vec<usize> = (step..text.len()).step_by(step).collect();
        check(&text, &cuts);
    }
}

#[test]
fn lines_with_several_runs_are_the_same_in_pieces() {
    let run = "GGGGGGGGGGGGGmGGGGGGGGGGGmBo0+7TroBo9Bo0+7TroBo9k7TrWebFetch";
    let text =
        format!("x\u{b}{run}(o\n\t\u{1}ookiomBGGGGGGGGGGGGGmGGGGGGGGGGGmBo0+7TroBo9Bo0+7Tro7").repeat(9);
    for step in [1, 4, 61, 200] {
        let cuts: Vec<usize> = (step..text.len()).step_by(step).collect();
        check(&text, &cuts);
    }
}
