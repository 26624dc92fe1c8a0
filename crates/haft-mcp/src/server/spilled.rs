//! Results that were too large, as resources.
//!
//! The engine gives a model the beginning and the end of a large result and keeps the whole in a file. The file's path means
//! nothing to a client that may be anywhere: it gets a link, `haft://result/…`, and reads it by and by.

use std::{
    collections::VecDeque,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use haft_engine::result::ToolResult;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{door::lock, guest::Guest, message::BAD_PARAMS};
use crate::client::Refused;

const SCHEME: &str = "haft://result/";
/// So many are known to a client. The files stay; older ones are not found by a link any more.
const MOST: usize = 1000;
/// What one reading gives if nothing else is wanted, and at most.
const USUAL_PAGE: u64 = 256 << 10;
const LARGEST_PAGE: u64 = 4 << 20;

/// The large results of a client.
pub(super) struct Spilled {
    kept: Mutex<VecDeque<(String, PathBuf)>>,
    calls: AtomicU64,
    /// Makes ids of calls that nobody has used: a session may go on, and the journal takes an id that comes again for
    /// the same call.
    visit: String,
}

impl Default for Spilled {
    fn default() -> Spilled {
        // The end of it is what chance made.
        let visit = Uuid::now_v7().simple().to_string()[20..].to_owned();
        Spilled { kept: Mutex::default(), calls: AtomicU64::new(0), visit }
    }
}

impl Spilled {
    /// An id for the next call.
    pub(super) fn next_call(&self) -> String {
        format!("mcp-{}-{}", self.visit, self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn keep(&self, path: &Path) -> Option<String> {
        let name = path.file_stem()?.to_str()?.to_owned();
        let mut kept = lock(&self.kept);
        kept.push_back((name.clone(), path.to_owned()));
        if kept.len() > MOST {
            kept.pop_front();
        }
        Some(format!("{SCHEME}{name}"))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        lock(&self.kept).iter().rev().find(|(kept, _)| kept == name).map(|(_, path)| path.clone())
    }
}

/// Whether an address is one of ours.
pub(super) fn is_ours(uri: &str) -> bool {
    uri.starts_with(SCHEME)
}

impl Guest {
    /// Adds a link to the whole of a result of which the client gets a part.
    pub(super) fn link_spilled(&self, answer: &mut Value, result: &ToolResult) {
        let Some(truncated) = &result.meta.truncated else { return };
        if let Some(told) = answer.pointer_mut("/_meta/haft~1meta/truncated").and_then(Value::as_object_mut) {
            told.shift_remove("path");
        }
        let Some(uri) = truncated.path.as_deref().and_then(|path| self.spilled.keep(path)) else { return };
        let description = format!("All {} bytes; read on with ?offset=BYTES&limit=BYTES", truncated.bytes);
        if let Some(content) = answer.get_mut("content").and_then(Value::as_array_mut) {
            content.push(json!({
                "type": "resource_link", "uri": uri, "name": "the whole result", "description": description,
                "mimeType": "text/plain", "size": truncated.bytes,
            }));
        }
    }

    /// A page of a large result.
    pub(super) async fn read_spilled(&self, uri: &str) -> Result<Value, Refused> {
        let (name, page) = parse(uri)?;
        let path = self.spilled.find(name).ok_or_else(|| not_found(uri))?;
        let read = tokio::task::spawn_blocking(move || read(&path, page)).await;
        let (text, next) = read.ok().and_then(Result::ok).ok_or_else(|| not_found(uri))?;
        let mut contents = json!({ "uri": uri, "mimeType": "text/plain", "text": text });
        if let Some(next) = next {
            contents["_meta"] =
                json!({ "haft/next": format!("{SCHEME}{name}?offset={next}&limit={}", page.limit) });
        }
        Ok(json!({ "contents": [contents] }))
    }
}

/// That there is nothing under an address.
pub(super) fn not_found(uri: &str) -> Refused {
    let data = Some(json!({ "uri": uri }));
    Refused { code: BAD_PARAMS, message: format!("Resource not found: {uri}"), data }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Page {
    offset: u64,
    limit: u64,
}

fn parse(uri: &str) -> Result<(&str, Page), Refused> {
    let rest = uri.strip_prefix(SCHEME).ok_or_else(|| not_found(uri))?;
    let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut page = Page { offset: 0, limit: USUAL_PAGE };
    for (key, value) in
        query.split('&').filter(|pair| !pair.is_empty()).filter_map(|pair| pair.split_once('='))
    {
        let figure = value.parse::<u64>();
        let figure = figure.map_err(|_| Refused::new(BAD_PARAMS, format!("`{key}` is a number of bytes")))?;
        match key {
            "offset" => page.offset = figure,
            "limit" => page.limit = figure.clamp(1, LARGEST_PAGE),
            _ => {}
        }
    }
    Ok((name, page))
}

/// The text of a page and where the next begins, if there is one.
fn read(path: &Path, page: Page) -> std::io::Result<(String, Option<u64>)> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(page.offset.min(length)))?;
    let mut bytes = Vec::new();
    file.take(page.limit.max(4)).read_to_end(&mut bytes)?;
    // A page ends between characters: the next begins with the one that did not fit.
    let whole = match std::str::from_utf8(&bytes) {
        Ok(_) => bytes.len(),
        Err(err) if err.error_len().is_none() && err.valid_up_to() > 0 => err.valid_up_to(),
        Err(_) => bytes.len(),
    };
    bytes.truncate(whole);
    let next = page.offset.min(length) + whole as u64;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), (next < length).then_some(next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_which_part_is_wanted() {
        let usual = Page { offset: 0, limit: USUAL_PAGE };
        assert_eq!(parse("haft://result/mcp-1").unwrap(), ("mcp-1", usual));
        let page = Page { offset: 10, limit: 1 };
        assert_eq!(parse("haft://result/mcp-1?offset=10&limit=0").unwrap(), ("mcp-1", page));
        assert!(parse("haft://result/mcp-1?offset=x").is_err());
        assert!(parse("file:///etc/passwd").is_err());
    }

    #[test]
    fn pages_end_between_characters_and_give_the_whole() {
        let dir = std::env::temp_dir().join(format!("haft-spilled-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("r.txt");
        std::fs::write(&path, "aé€😀z".repeat(3)).unwrap();
        let (mut whole, mut next) = (String::new(), Some(0));
        while let Some(offset) = next {
            let (text, after) = read(&path, Page { offset, limit: 5 }).unwrap();
            whole.push_str(&text);
            next = after;
        }
        assert_eq!(whole, "aé€😀z".repeat(3));
        assert_eq!(read(&path, Page { offset: 999, limit: 5 }).unwrap(), (String::new(), None));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_link_finds_only_what_was_given_to_this_client() {
        let spilled = Spilled::default();
        let uri = spilled.keep(Path::new("/state/results/s/mcp-1.txt")).unwrap();
        assert_eq!(uri, "haft://result/mcp-1");
        assert_eq!(spilled.find("mcp-1").unwrap(), Path::new("/state/results/s/mcp-1.txt"));
        assert_eq!(spilled.find("../mcp-1"), None);
    }
}
