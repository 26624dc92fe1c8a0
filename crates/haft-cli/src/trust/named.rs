//! Files of the workspace that its hooks and servers run.
//!
//! Whoever trusts `./guard.sh` trusts what stands in it: the file counts as a part of what was trusted, and is as little to
//! be changed behind anybody's back as the line that names it. What such a file runs in its turn is not looked for.

use std::path::Path;

use serde_json::Value;

use super::gather::{Bundle, SERVERS, SETTINGS};

/// The words of command lines that may name a file below the workspace, as paths from its root.
pub(super) fn candidates(bundle: &Bundle, workspace: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for path in SETTINGS {
        let text = bundle.find(path).and_then(|file| str::from_utf8(&file.bytes).ok());
        let all = text.and_then(|text| toml::from_str::<Value>(text).ok());
        for runs in all.iter().flat_map(|all| [all.get("hooks"), all.get("mcp")]).flatten() {
            commands(runs, &mut lines);
        }
    }
    let servers = bundle.find(SERVERS).and_then(|file| serde_json::from_slice::<Value>(&file.bytes).ok());
    servers.iter().for_each(|servers| commands(servers, &mut lines));
    let mut paths: Vec<String> = lines.iter().flat_map(|line| words(line, workspace)).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Everything that is run, wherever it stands.
fn commands(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("command", Value::String(line)) => lines.push(line.clone()),
                    ("args", Value::Array(words)) => {
                        lines.extend(words.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => commands(value, lines),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| commands(value, lines)),
        _ => {}
    }
}

/// The roots that a path may be written from.
const ROOTS: [&str; 5] =
    ["./", "$CLAUDE_PROJECT_DIR/", "${CLAUDE_PROJECT_DIR}/", "$HAFT_PROJECT_DIR/", "${HAFT_PROJECT_DIR}/"];

/// Quotes are taken away, wherever they stand: `"$CLAUDE_PROJECT_DIR"/a.sh` is the usual way to write it.
fn words(line: &str, workspace: &Path) -> Vec<String> {
    let ends = |char: char| char.is_whitespace() || "`;|&<>(),=".contains(char);
    let bare: String = line.chars().filter(|char| !"'\"".contains(*char)).collect();
    bare.split(ends).filter_map(|word| below(word, workspace)).collect()
}

fn below(word: &str, workspace: &Path) -> Option<String> {
    let below = Path::new(word).strip_prefix(workspace).ok().and_then(Path::to_str);
    let path = ROOTS.iter().find_map(|root| word.strip_prefix(root)).or(below).unwrap_or(word);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let is_path = !parts.is_empty() && !path.starts_with('/') && !parts.contains(&"..");
    is_path.then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{super::gather::Content, *};

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let content = Content { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
        let found = candidates(&Bundle { files: vec![content] }, Path::new("/w/app"));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn command_lines_name_files() {
        check(
            "haft.toml",
            "permissions.allow = [\"Read(src/main.rs)\"]\n[[hooks.PreToolUse]]\ncommand = \"python3 ./tools/guard.py --x=conf/a.json && ../out\"\n",
            &["--x", "conf/a.json", "python3", "tools/guard.py"],
        );
        check(
            ".haft/haft.toml",
            "[[hooks.Stop]]\nhooks = [{ type = \"command\", command = '\"$CLAUDE_PROJECT_DIR\"/a.sh /w/app/b.sh /etc/c' }]\n",
            &["a.sh", "b.sh"],
        );
        check(
            ".mcp.json",
            r#"{"mcpServers":{"x":{"command":"node","args":["./srv/x.mjs"]}}}"#,
            &["node", "srv/x.mjs"],
        );
        check(
            "haft.toml",
            "[mcp.servers.x]\ncommand = \"./srv.sh\"\nargs = [\"conf.json\"]\n",
            &["conf.json", "srv.sh"],
        );
        check("haft.toml", "not toml [", &[]);
    }
}
