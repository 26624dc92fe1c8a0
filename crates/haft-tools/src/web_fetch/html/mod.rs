//! HTML to Markdown, for a reader who wants the words: no scripts, no styles, nothing that a person would not see.
//!
//! One pass over the page and one over each table, whatever the page says; what comes out is at most some times as long as
//! what came in.

mod tokens; //   a page as tags and texts
mod entities; // characters by name and number
mod elements; // what each element is for
mod inline; //   a line of words, with its marks
mod writer; //   what elements do to the text
mod table; //    rows and cells

use url::Url;

/// The page as Markdown, its links made whole by the address it came from.
pub(super) fn to_markdown(page: &str, base: Option<&Url>) -> String {
    writer::write(page, base)
}

/// How far the encoding is looked for: where HTML says that it must stand.
const HEAD: usize = 1024;

/// The encoding that a page says it has.
pub(super) fn charset(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    tokens::Tokens::of(&head).find_map(|token| match token {
        tokens::Token::Start(tag) if tag.name == "meta" => {
            let said = |name: &str| tag.attribute(name).map(|value| value.into_owned());
            said("charset").or_else(|| after_charset(&said("content")?))
        }
        _ => None,
    })
}

/// The encoding in `text/html; charset=utf-8`.
fn after_charset(content: &str) -> Option<String> {
    let at = content.to_ascii_lowercase().find("charset=")?;
    let label = content[at + "charset=".len()..].split(';').next()?;
    Some(label.trim().trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests;
