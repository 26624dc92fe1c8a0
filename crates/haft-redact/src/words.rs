//! Does this read as names, or is it made of random characters?
//!
//! A name of a program (`UserAPIKeyAuth`, `x25519_generate_key`, `current-password`) is made of words: a few letters each,
//! in an order that occurs in English and in abbreviations. Of random letters about half of all pairs do not occur, and
//! capitals and digits stand everywhere.

/// Which letters follow which in names: a row for each letter, a bit for each that follows.
const FOLLOWS: [&str; 26] = [
    "abcdefgiklmnprstuvwxy",
    "abcdefijlorsuy",
    "abcdefhiklmoprstuy",
    "abcdefijlorstu",
    "abcdefgijklmnopqrstuvwxy",
    "acdefilorstu",
    "aeghilnorsu",
    "aeiorstu",
    "abcdefglmnoprstvxz",
    "aeiosu",
    "aeils",
    "acdefilopstuvy",
    "abdeilmopsu",
    "acdefgijklnoprstuvy",
    "abcdfgijklmnoprstuvwx",
    "acdefhiloprstuy",
    "u",
    "abcdefgiklmnoprstuvy",
    "acdefghiklmnoprstuwy",
    "abcdefhilmnoprstuwy",
    "abcdefgilmnoprst",
    "aeio",
    "aehinors",
    "abceipt",
    "elmnpst",
    "aei",
];

/// Whether one letter follows another in names, in small letters.
fn follows(first: u8, next: u8) -> bool {
    static BITS: [u32; 26] = bits();
    BITS[usize::from(first - b'a')] >> (next - b'a') & 1 == 1
}

const fn bits() -> [u32; 26] {
    let (mut bits, mut row) = ([0; 26], 0);
    while row < 26 {
        let (letters, mut at) = (FOLLOWS[row].as_bytes(), 0);
        while at < letters.len() {
            bits[row] |= 1 << (letters[at] - b'a');
            at += 1;
        }
        row += 1;
    }
    bits
}

/// What the words of a value come to.
#[derive(Default)]
struct Tally {
    letters: usize,
    capitals: usize,
    words: usize,
    /// Words of one letter.
    singles: usize,
    digits: usize,
    numbers: usize,
    pairs: usize,
    /// Pairs of letters that follow each other in names.
    usual: usize,
}

impl Tally {
    fn of(value: &[u8]) -> Tally {
        let mut tally = Tally::default();
        let (mut last, mut run) = (b' ', 0);
        for (at, byte) in value.iter().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    run = if last.is_ascii_digit() { run + 1 } else { 1 };
                    tally.numbers += usize::from(run == 1);
                    // A number of up to five digits is a size or a version (`x25519`), and counts as two.
                    tally.digits += match run {
                        1 | 2 => 1,
                        6 => 4,
                        3..=5 => 0,
                        _ => 1,
                    };
                }
                byte if byte.is_ascii_alphabetic() => tally.add_letter(last, *byte, value.get(at + 1)),
                _ => {}
            }
            last = *byte;
        }
        tally
    }

    fn add_letter(&mut self, last: u8, letter: u8, next: Option<&u8>) {
        self.letters += 1;
        self.capitals += usize::from(letter.is_ascii_uppercase());
        let ends_capitals = next.is_some_and(u8::is_ascii_lowercase);
        let is_hump = letter.is_ascii_uppercase() && (!last.is_ascii_uppercase() || ends_capitals);
        if !last.is_ascii_alphabetic() || is_hump {
            self.words += 1;
            self.singles += usize::from(!next.is_some_and(u8::is_ascii_alphabetic) || is_alone(letter, next));
        } else {
            self.pairs += 1;
            let is_usual = follows(last.to_ascii_lowercase(), letter.to_ascii_lowercase());
            self.usual += usize::from(is_usual);
        }
    }

    /// Ten times how long a word is on average. Where digits and capitals come together, little else tells names from
    /// random characters.
    fn least_length(&self) -> usize {
        if self.digits > 0 && self.capitals > 0 { 30 } else { 27 }
    }

    fn is_words(&self) -> bool {
        let is_short = self.letters + self.digits <= 3;
        is_short
            || self.singles <= 1 + self.words / 4
                && self.letters * 10 + if self.capitals == 0 { 10 } else { 0 }
                    >= self.words * self.least_length()
                && self.usual * 4 >= self.pairs * 3
                && (self.digits == 0 || self.usual * 6 >= self.pairs * 5)
                && self.digits * 2 <= self.letters
                && self.numbers * 8 <= self.letters + 6
    }
}

/// Whether a word ends behind its first letter, because the next begins another.
fn is_alone(letter: u8, next: Option<&u8>) -> bool {
    letter.is_ascii_lowercase() && next.is_some_and(u8::is_ascii_uppercase)
}

/// Whether a name, or what is joined from names by `_`, `-`, `.`, `:`, `/` and `,`, reads as words.
pub(crate) fn is_words(value: &[u8]) -> bool {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b',' | b'=')
    };
    value.iter().all(is_part) && is_made_of_words(value)
}

/// The same, whatever stands between the words.
pub(crate) fn is_made_of_words(value: &[u8]) -> bool {
    Tally::of(value).is_words()
}

/// Whether this is a piece of a program: names that read as words, and between them what a program has there.
pub(crate) fn is_code(value: &[u8]) -> bool {
    let mut at = 0;
    let mut before: &[u8] = b"";
    let mut names = 0;
    while at < value.len() {
        let rest = &value[at..];
        let name = rest.iter().take_while(|byte| is_name(**byte)).count();
        if name == 0 {
            let gap = rest.iter().take_while(|byte| !is_name(**byte)).count();
            before = &rest[..gap];
            if !is_between(before, names > 0, gap < rest.len()) {
                return false;
            }
            at += gap;
            continue;
        }
        let name = &rest[..name];
        if !is_name_in_code(name) || before.last() == Some(&b')') && name.iter().any(u8::is_ascii_digit) {
            return false;
        }
        names += 1;
        at += name.len();
    }
    names > 0
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_name_in_code(name: &[u8]) -> bool {
    let is_number = name.len() <= 8 && name.iter().all(u8::is_ascii_digit);
    let is_short = name.len() <= 5 && name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    is_number || is_short || !name[0].is_ascii_digit() && is_made_of_words(name)
}

/// What stands before, between and behind names in programs.
fn is_between(gap: &[u8], has_before: bool, has_behind: bool) -> bool {
    let is_odd = |byte: &u8| !byte.is_ascii_punctuation() || matches!(byte, b'#' | b'%' | b'^' | b'~' | b'@');
    match gap {
        [b'!', b'[', ..] => true,
        gap if gap.iter().any(is_odd) => false,
        [b'!' | b'&' | b'*'] => !has_before,
        [b'-' | b'/' | b'$' | b'\\'] => false,
        [.., b'!'] => has_behind && gap.len() > 1,
        [b'$', ..] => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random characters, always the same.
    fn random(alphabet: &[u8], length: usize, count: usize) -> Vec<Vec<u8>> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            alphabet[(state >> 33) as usize % alphabet.len()]
        };
        (0..count).map(|_| (0..length).map(|_| next()).collect()).collect()
    }

    #[test]
    fn random_characters_are_no_words() {
        let small = b"abcdefghijklmnopqrstuvwxyz";
        let both = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let all = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let base36 = b"abcdefghijklmnopqrstuvwxyz0123456789";
        for (alphabet, length, most) in [
            (&small[..], 16, 60),
            (&both[..], 16, 20),
            (&both[..], 12, 60),
            (&all[..], 16, 5),
            (&all[..], 24, 5),
            (&base36[..], 16, 20),
            (&base36[..], 24, 10),
        ] {
            let words = random(alphabet, length, 1000);
            let count = words.iter().filter(|word| is_words(word)).count();
            assert!(count <= most, "{count} of 1000 with {length} of {}", alphabet.len());
        }
    }

    #[test]
    fn names_of_programs_are_words() {
        for name in [
            "UserAPIKeyAuth",
            "x25519_generate_private_key",
            "GCSCredentialProvider",
            "EphemeralPrivateKey",
            "LiteLLM_DeletedVerificationToken",
            "AdditionalMasterSecurityGroups",
            "base64PrivateKey",
            "MLKEM1024P384PrivateKey",
            "PKCS7PrivateKeyTypes",
            "current-password",
            "fs.s3.enableServerSideEncryption",
            "access_token_123",
            "OAUTH2_TOKEN",
            "NID_pbe_WithSHA1And3_Key_TripleDES_CBC",
        ] {
            assert!(is_words(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn expressions_are_code_and_passwords_are_none() {
        for code in [
            "a.b.Member",
            "null),x.isFieldTouched(",
            "!0},{name:",
            "e})}],55004",
            "+resMatch+",
            "f(x)?.y",
            "bytes):",
        ] {
            assert!(is_code(code.as_bytes()), "{code}");
        }
        for other in [
            "jWNpvEUylTivoY!",
            "(Abc123xyz",
            "foo()Bar9",
            "$ecretP4ss",
            "correct-horse-battery",
            "abcdef!",
            "p@ss",
            "Zq7.Wm3x.Kp9vBd",
        ] {
            assert!(!is_code(other.as_bytes()), "{other}");
        }
    }
}
