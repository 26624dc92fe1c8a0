//! The text of a request: an object, field by field.

use serde_json::{Map, Value};

use super::quoted;

/// An object that is being written. Fields that the caller has own values for are left to them.
pub(crate) struct Fields<'a> {
    json: String,
    extra: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// An empty object, with room for so many bytes. Each request of a conversation is a little longer than the one before: what
    /// that one left is taken again only if this one asks for no more.
    pub(crate) fn new(room: usize, extra: &'a Map<String, Value>) -> Fields<'a> {
        let mut json = String::with_capacity((room + 1_024).next_power_of_two());
        json.push('{');
        Fields { json, extra }
    }

    /// A field.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.write(name, |json| json.push_str(&value.into().to_string()));
    }

    /// A field, if there is a value for it.
    pub(crate) fn put_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// A field whose value is written as text.
    pub(crate) fn write(&mut self, name: &str, write: impl FnOnce(&mut String)) {
        if !self.extra.contains_key(name) {
            self.name(name);
            write(&mut self.json);
        }
    }

    /// The whole, with the caller's own fields. `null` is a field that is to be left out.
    pub(crate) fn finish(mut self) -> String {
        for (name, value) in self.extra.iter().filter(|(_, value)| !value.is_null()) {
            self.name(name);
            self.json.push_str(&value.to_string());
        }
        self.json.push('}');
        self.json
    }

    fn name(&mut self, name: &str) {
        if self.json.len() > 1 {
            self.json.push(',');
        }
        self.json.push_str(&quoted(name));
        self.json.push(':');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn own_fields_replace_ours_and_null_leaves_one_out() {
        let extra = json!({ "b": 2, "stream_options": null, "c": [1] });
        let mut fields = Fields::new(0, extra.as_object().expect("an object"));
        fields.put("a", 1);
        fields.put("b", 1);
        fields.put("stream_options", "x");
        fields.put_some("d", None::<u32>);
        assert_eq!(fields.finish(), r#"{"a":1,"b":2,"c":[1]}"#);
        assert_eq!(Fields::new(0, &Map::new()).finish(), "{}");
    }
}
