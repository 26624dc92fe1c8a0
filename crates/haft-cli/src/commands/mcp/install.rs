//! Telling a client of haft: printing what has to stand in its configuration, or writing it there.
//!
//! A client's configuration is its user's. What is there stays, byte for byte where the form allows it; a file that this
//! could destroy, because it has comments that our parser would drop or is something else than it should be, is not touched.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, Item, Table};

use super::{
    Args,
    clients::{self, Client, Form},
};
use crate::{
    cli::Options,
    exit::{Exit, usage},
    out::{Out, Talk},
    place::Place,
};

/// What clients call us.
const NAME: &str = "haft";

pub(super) fn run(options: &Options, args: &Args, name: &str) -> anyhow::Result<Exit> {
    let (place, talk) =
        (Place::find(options.cwd.as_deref())?, Talk::new(options.verbose).quiet(options.quiet));
    let client = clients::named(name).ok_or_else(|| usage(format!("there is no client {name}")))?;
    let path = client.path(&place.workspace, place.home.as_deref());
    let path = path.ok_or_else(|| usage("there is no home: set HOME"))?;
    let (command, arguments) = command(options, &place, args, &client)?;
    let mut out = Out::stdout();
    if args.write {
        let backup = write(&client, &path, &command, &arguments)
            .map_err(|what| usage(format!("{}: {what}", path.display())))?;
        let kept = backup.map_or_else(String::new, |backup| format!("; as it was: {}", backup.display()));
        out.lines(&format!("{} is told to start haft{kept}", path.display()))?;
    } else {
        talk.remark(|| format!("this belongs into {} (--write puts it there)", path.display()));
        out.lines(&shown(&client, &command, &arguments))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// How the client starts us: with what was said here. A client that serves all projects starts us in the one that it is in.
fn command(
    options: &Options,
    place: &Place,
    args: &Args,
    client: &Client,
) -> anyhow::Result<(String, Vec<String>)> {
    let program = env::current_exe().ok().map(|own| as_found(own, env::var_os("PATH").as_deref()));
    let program = program.and_then(|path| path.to_str().map(str::to_owned));
    let program = program.ok_or_else(|| usage("haft's own path is no text that a configuration can have"))?;
    let mut words = vec!["mcp".to_owned()];
    let mut say = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
    if client.base == clients::Base::Workspace && options.cwd.is_some() {
        say("--cwd", &place.cwd.display().to_string());
    }
    if let Some(only) = &args.only {
        say("--only", only);
    }
    if let Some(mode) = options.mode {
        say("--mode", mode.name());
    }
    for (option, rules) in [("--allow", &options.allow), ("--ask", &options.ask), ("--deny", &options.deny)] {
        rules.iter().for_each(|rule| say(option, rule));
    }
    if args.no_prefix {
        words.push("--no-prefix".to_owned());
    }
    Ok((program, words))
}

/// A program's path as `PATH` has it. Always a whole path: a client that was not started from a shell has another `PATH`, and
/// might find another program or none. But not the file behind links, which is another one after the next update.
fn as_found(own: PathBuf, path: Option<&OsStr>) -> PathBuf {
    let (Some(path), Some(name)) = (path, own.file_name()) else { return own };
    let is_own =
        |found: &PathBuf| found.is_absolute() && fs::canonicalize(found).is_ok_and(|real| real == own);
    env::split_paths(path).map(|directory| directory.join(name)).find(is_own).unwrap_or(own)
}

fn shown(client: &Client, command: &str, arguments: &[String]) -> String {
    if client.form == Form::Toml {
        let mut document = DocumentMut::new();
        // An empty document takes whatever is put into it.
        let _ = add_table(&mut document, command, arguments);
        return document.to_string();
    }
    let value = json!({ client.form.key(): { NAME: client.form.entry(command, arguments) } });
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

/// Writes it into the file; gives where the file is as it was, if there was one.
fn write(
    client: &Client,
    path: &Path,
    command: &str,
    arguments: &[String],
) -> Result<Option<PathBuf>, String> {
    let before = match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(err) if err.kind() == io::ErrorKind::NotFound => None,
        Err(err) => return Err(err.to_string()),
    };
    let text = before.as_deref().unwrap_or_default();
    let after = match client.form {
        Form::Toml => with_table(text, command, arguments)?,
        form => with_entry(text, form, command, arguments)?,
    };
    let backup = before.map(|before| keep(path, &before)).transpose().map_err(|err| err.to_string())?;
    replace(path, &after).map_err(|err| err.to_string())?;
    Ok(backup)
}

fn with_entry(text: &str, form: Form, command: &str, arguments: &[String]) -> Result<String, String> {
    let mut root: Map<String, Value> = match text.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).map_err(|err| {
            format!("it is not plain JSON ({err}); it may have comments, which would be lost: add by hand what `haft mcp --install` prints without --write")
        })?,
    };
    let servers = root.entry(form.key()).or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or_else(|| format!("`{}` is no object", form.key()))?;
    servers.insert(NAME.to_owned(), form.entry(command, arguments));
    let pretty = serde_json::to_string_pretty(&root).map_err(|err| err.to_string())?;
    Ok(pretty + "\n")
}

fn with_table(text: &str, command: &str, arguments: &[String]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|err| format!("it is not TOML: {err}"))?;
    add_table(&mut document, command, arguments)?;
    Ok(document.to_string())
}

fn add_table(document: &mut DocumentMut, command: &str, arguments: &[String]) -> Result<(), String> {
    let key = Form::Toml.key();
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let servers = document.entry(key).or_insert_with(implicit);
    let servers = servers.as_table_like_mut().ok_or_else(|| format!("`{key}` is no table"))?;
    let mut table = Table::new();
    table.insert("command", toml_edit::value(command));
    table.insert("args", toml_edit::value(arguments.iter().map(String::as_str).collect::<Array>()));
    servers.insert(NAME, Item::Table(table));
    Ok(())
}

/// The file as it was, beside it. An older one of these stays, too.
fn keep(path: &Path, text: &str) -> io::Result<PathBuf> {
    let beside = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".bak".to_owned() } else { format!(".bak{number}") });
        PathBuf::from(name)
    };
    for number in 0..1000 {
        match fs::OpenOptions::new().write(true).create_new(true).open(beside(number)) {
            Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| beside(number)),
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            Err(err) => return Err(err),
        }
    }
    Err(io::Error::other("too many copies are kept beside it"))
}

/// In one step, with the mode that the file had; through a link, if it is one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)?;
    let mut staged = tempfile::Builder::new().prefix(".haft-").tempfile_in(directory)?;
    staged.write_all(text.as_bytes())?;
    if let Ok(before) = fs::metadata(&path) {
        staged.as_file().set_permissions(before.permissions())?;
    }
    staged.as_file().sync_all()?;
    staged.persist(&path).map(drop).map_err(|err| err.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<String> {
        vec!["mcp".to_owned()]
    }

    #[test]
    fn what_is_there_stays_and_keeps_its_order() {
        let text = r#"{"zeta": 1, "mcpServers": {"other": {"command": "x"}, "haft": {"command": "old"}}, "alpha": [2]}"#;
        let after = with_entry(text, Form::McpServers, "/bin/haft", &words()).unwrap();
        let expected = json!({ "zeta": 1, "mcpServers": { "other": { "command": "x" }, "haft": { "command": "/bin/haft", "args": ["mcp"] } }, "alpha": [2] });
        assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), expected);
        assert!(after.find("zeta") < after.find("alpha"));
    }

    #[test]
    fn a_file_that_could_be_destroyed_is_not_touched() {
        for text in ["// mine\n{}", "{\"a\": 1,}", "[]", "{\"mcpServers\": []}"] {
            assert!(with_entry(text, Form::McpServers, "haft", &words()).is_err(), "{text}");
        }
        assert!(with_table("mcp_servers = 3", "haft", &words()).is_err());
        assert!(with_table("= 3", "haft", &words()).is_err());
    }

    #[test]
    fn comments_in_toml_stay() {
        let after = with_table(
            "# mine\nmodel = \"x\" # fast\n\n[mcp_servers.other]\ncommand = \"y\"\n",
            "haft",
            &words(),
        )
        .unwrap();
        let expected = "# mine\nmodel = \"x\" # fast\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[mcp_servers.haft]\ncommand = \"haft\"\nargs = [\"mcp\"]\n";
        assert_eq!(after, expected);
    }

    #[test]
    fn a_file_is_replaced_in_one_step_and_kept_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/mcp.json");
        let client = clients::named("cursor").unwrap();
        assert_eq!(write(&client, &path, "haft", &words()).unwrap(), None);
        let first = fs::read_to_string(&path).unwrap();
        let backup = write(&client, &path, "/opt/haft", &words()).unwrap().unwrap();
        assert_eq!(fs::read_to_string(backup).unwrap(), first);
        assert!(fs::read_to_string(&path).unwrap().contains("/opt/haft"));
        fs::write(&path, "// mine\n{}").unwrap();
        assert!(write(&client, &path, "haft", &words()).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "// mine\n{}");
    }

    #[test]
    fn the_program_is_a_whole_path_and_a_link_to_it_is_better_than_the_file_behind_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (bin, other, own) = (root.join("bin"), root.join("other"), root.join("haft-1.2/haft"));
        for directory in [&bin, &other, own.parent().unwrap()] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(&own, "").unwrap();
        fs::write(other.join("haft"), "").unwrap();
        let in_path =
            |directories: &[&Path]| as_found(own.clone(), env::join_paths(directories).ok().as_deref());
        assert_eq!(in_path(&[&other, &bin]), own, "another program of that name is none of ours");
        std::os::unix::fs::symlink(&own, bin.join("haft")).unwrap();
        assert_eq!(in_path(&[&other, &bin]), bin.join("haft"));
        assert_eq!(in_path(&[]), own);
        assert_eq!(as_found(own.clone(), None), own);
    }

    #[test]
    fn every_client_is_told_in_its_own_form() {
        for name in clients::names() {
            let client = clients::named(name).unwrap();
            let text = shown(&client, "/bin/haft", &words());
            assert!(text.contains(client.form.key()) && text.contains("/bin/haft"), "{name}: {text}");
        }
    }
}
