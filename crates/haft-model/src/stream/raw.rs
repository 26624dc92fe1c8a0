//! JSON as it was written: a field or an item of it, as the text that came.
//!
//! What an API wants back word for word must not go through a value: numbers and escapes would come out differently.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text of a field. `null` is the same as nothing.
pub(crate) fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let mut reader = serde_json::Deserializer::from_str(json);
    Field(name).deserialize(&mut reader).ok()?.map(RawValue::get).filter(|text| *text != "null")
}

/// The texts of a list's items; none if it is no list.
pub(crate) fn items(json: &str) -> Vec<&str> {
    let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    items.into_iter().map(RawValue::get).collect()
}

struct Field<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            // Of two fields with the same name the last one counts, as it does for a value.
            match key == self.0 {
                true => found = Some(map.next_value()?),
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// JSON without halves of characters. Programs that cut texts as UTF-16 write them, and no reader takes them.
pub(crate) fn mended(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u") {
        return json.into();
    }
    let mut mended = String::new();
    let (mut kept, mut at) = (0, 0);
    let bytes = json.as_bytes();
    while at < bytes.len() {
        match (bytes[at], unit(json, at)) {
            (b'\\', Some(0xd800..0xdc00)) if matches!(unit(json, at + 6), Some(0xdc00..0xe000)) => at += 12,
            (b'\\', Some(0xd800..0xe000)) => {
                mended.push_str(&json[kept..at]);
                mended.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            (b'\\', _) => at += 2,
            _ => at += 1,
        }
    }
    if kept == 0 {
        return json.into();
    }
    mended.push_str(&json[kept..]);
    mended.into()
}

/// The unit of UTF-16 that is written here as `\uXXXX`.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_keeps_its_bytes() {
        let json = r#"{"a": 1, "n": {"x": 1e3, "y" :12345678901234567890123}, "b\"": null}"#;
        assert_eq!(field(json, "n"), Some(r#"{"x": 1e3, "y" :12345678901234567890123}"#));
        assert_eq!(field(json, "b\""), None);
        assert_eq!(field(json, "c"), None);
        assert_eq!(field("[1]", "c"), None);
        assert_eq!(items("[1.0, {\"a\" : 2}]"), ["1.0", "{\"a\" : 2}"]);
        assert!(items("{").is_empty());
    }

    #[test]
    fn halves_of_characters_are_replaced_and_whole_ones_stay() {
        for (json, expected) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00 \ud83d\ud83d\ude00x""#, r#""\ufffd \ufffd\ud83d\ude00x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\u00e9 é \ud8""#, r#""\u00e9 é \ud8""#),
            (r#""\é\ud83d""#, r#""\é\ufffd""#),
        ] {
            assert_eq!(mended(json), expected);
        }
    }
}
