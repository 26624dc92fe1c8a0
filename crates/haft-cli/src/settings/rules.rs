//! The rules of a file: each a text, or a table with what is to be said beside it, in the layer that its table names.

use haft_engine::policy::{Layer, Origin, Rules, Written};
use haft_schema::nearest;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Level,
    file::{File, at},
};

/// What may stand in the table of a rule.
const BESIDE: [&str; 6] = ["rule", "reason", "match", "not_match", "roles", "except_roles"];

/// The tables of named layers.
type Named = (&'static str, fn(String) -> Layer);
const NAMED: [Named; 3] = [("models", Layer::Model), ("agents", Layer::Agent), ("groups", Layer::Group)];

impl File<'_> {
    /// The rules of all layers.
    pub(super) fn all_rules(self, table: &DeTable<'_>, level: Level) -> anyhow::Result<Rules> {
        let mut rules = self.permissions(at(table, &["permissions"]), &Layer::Global)?;
        rules = rules.and(self.permissions(at(table, &["sandbox", "permissions"]), &Layer::Sandbox)?);
        for (name, layer) in NAMED {
            let named = at(table, &[name]).and_then(|named| named.get_ref().as_table());
            for (key, inner) in named.into_iter().flatten() {
                let found = inner.get_ref().as_table().and_then(|inner| inner.get("permissions"));
                rules = rules.and(self.permissions(found, &layer(key.get_ref().to_string()))?);
            }
        }
        if level == Level::Managed {
            rules.ask.iter_mut().for_each(|rule| rule.firm = true);
        }
        Ok(rules)
    }

    fn permissions(self, table: Option<&Spanned<DeValue<'_>>>, layer: &Layer) -> anyhow::Result<Rules> {
        let list = |name| {
            let list = table.and_then(|table| table.get_ref().as_table()?.get(name));
            list.map_or(Ok(Vec::new()), |list| self.list(name, list, layer))
        };
        Ok(Rules { allow: list("allow")?, ask: list("ask")?, deny: list("deny")? })
    }

    fn list(self, name: &str, list: &Spanned<DeValue<'_>>, layer: &Layer) -> anyhow::Result<Vec<Written>> {
        let Some(rules) = list.get_ref().as_array() else {
            let what = format!("`{name}` is a list of rules, as in `{name} = [\"Read(src/**)\"]`");
            return Err(self.wrong(list.span(), what));
        };
        rules.iter().map(|rule| Ok(self.rule(rule)?.in_layer(layer.clone()))).collect()
    }

    fn rule(self, value: &Spanned<DeValue<'_>>) -> anyhow::Result<Written> {
        let origin = Origin::File { path: self.path.to_owned(), line: self.line(value.span().start) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Written::new(text.as_ref(), origin)),
            DeValue::Table(table) => self.rule_with_words(value, table, origin),
            _ => Err(self.wrong(
                value.span(),
                "a rule is a text, or a table such as `{ rule = \"Bash\", reason = \"…\" }`",
            )),
        }
    }

    fn rule_with_words(
        self,
        value: &Spanned<DeValue<'_>>,
        table: &DeTable<'_>,
        origin: Origin,
    ) -> anyhow::Result<Written> {
        self.check_words(table)?;
        let Some(text) = table.get("rule") else {
            return Err(self.wrong(
                value.span(),
                "the rule itself is missing; write it as `rule = \"Bash(git push:*)\"`",
            ));
        };
        Ok(Written {
            reason: table.get("reason").map(|reason| self.text("reason", reason)).transpose()?,
            matches: self.texts("match", table)?,
            not_matches: self.texts("not_match", table)?,
            for_roles: self.texts("roles", table)?,
            except_roles: self.texts("except_roles", table)?,
            ..Written::new(self.text("rule", text)?, origin)
        })
    }

    fn check_words(self, table: &DeTable<'_>) -> anyhow::Result<()> {
        let Some((key, _)) = table.iter().find(|(key, _)| !BESIDE.contains(&&**key.get_ref())) else {
            return Ok(());
        };
        let word: &str = key.get_ref();
        let advice = match nearest(word, BESIDE) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", BESIDE.join(", ")),
        };
        Err(self.wrong(key.span(), format!("a rule has no `{word}`; {advice}")))
    }

    fn text(self, name: &str, value: &Spanned<DeValue<'_>>) -> anyhow::Result<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| self.wrong(value.span(), format!("`{name}` is a text")))
    }

    fn texts(self, name: &str, table: &DeTable<'_>) -> anyhow::Result<Vec<String>> {
        let Some(value) = table.get(name) else { return Ok(Vec::new()) };
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.wrong(value.span(), format!("`{name}` is a list of texts")));
        };
        list.iter().map(|value| self.text(name, value)).collect()
    }
}
