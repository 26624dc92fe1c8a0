//! What was trusted before: for each workspace one file in the state directory, with a copy of everything.
//!
//! The copies are there for the diff. Each workspace has a file of its own, replaced in one step: two processes that trust
//! at the same time leave the word of one of them whole. A file that cannot be believed is as good as none, and says so.

use std::{
    fs,
    io::ErrorKind,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::gather::{Bundle, Content, hex};
use crate::{kept, place};

/// The form of the file. Another number is another form.
const FORM: u32 = 1;

/// What was trusted of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trusted {
    pub(crate) workspace: PathBuf,
    /// When, in seconds since 1970.
    pub(crate) since: u64,
    pub(crate) bundle: Bundle,
}

#[derive(Serialize, Deserialize)]
struct Record {
    form: u32,
    workspace: String,
    since: u64,
    /// Of all files together.
    hash: String,
    files: Vec<Copy>,
}

#[derive(Serialize, Deserialize)]
struct Copy {
    path: String,
    hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// What is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Keeps that this content of a workspace is trusted.
pub(crate) fn trust(workspace: &Path, bundle: &Bundle) -> anyhow::Result<()> {
    let record = Record {
        form: FORM,
        workspace: workspace.to_string_lossy().into_owned(),
        since: kept::now(),
        hash: bundle.hash(),
        files: bundle.files.iter().map(copy).collect(),
    };
    let file = file(workspace)?;
    let kept = kept::replace(&file, &serde_json::to_vec(&record)?);
    kept.map_err(|err| anyhow::anyhow!("trust cannot be kept in {}: {err}", file.display()))
}

/// Forgets it. Whether there was anything to forget.
pub(crate) fn forget(workspace: &Path) -> anyhow::Result<bool> {
    let file = file(workspace)?;
    match fs::remove_file(&file) {
        Ok(()) => Ok(true),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(false),
        Err(err) => Err(anyhow::anyhow!("{}: {err}", file.display())),
    }
}

/// What was trusted of a workspace, if anything; why that cannot be said otherwise.
pub(super) fn recall(workspace: &Path) -> Result<Option<Trusted>, String> {
    // Without a place for it, nothing was ever trusted.
    let Ok(file) = file(workspace) else { return Ok(None) };
    believe(&file)
}

/// All that was trusted, or why a file of it cannot be believed; sorted by workspace.
pub(crate) fn list() -> anyhow::Result<Vec<Result<Trusted, String>>> {
    let directory = directory()?;
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(anyhow::anyhow!("{}: {err}", directory.display())),
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut all: Vec<_> = files.iter().filter_map(|file| believe(file).transpose()).collect();
    all.sort_by_key(|one| one.as_ref().ok().map(|trusted| trusted.workspace.clone()));
    Ok(all)
}

fn directory() -> anyhow::Result<PathBuf> {
    Ok(place::state()?.join("trust"))
}

fn file(workspace: &Path) -> anyhow::Result<PathBuf> {
    let key = hex(&Sha256::digest(workspace.as_os_str().as_bytes()));
    Ok(directory()?.join(format!("{key}.json")))
}

fn believe(file: &Path) -> Result<Option<Trusted>, String> {
    let wrong = |what: String| format!("{} cannot be believed: {what}", file.display());
    let Some(bytes) = kept::read(file).map_err(|err| wrong(err.to_string()))? else { return Ok(None) };
    let record: Record = serde_json::from_slice(&bytes).map_err(|err| wrong(err.to_string()))?;
    if record.form != FORM {
        return Err(wrong(format!("its form is {}, and this is for {FORM}", record.form)));
    }
    let files = record.files.into_iter().map(content).collect::<Option<Vec<_>>>();
    let bundle = files.map(|files| Bundle { files }).filter(|bundle| bundle.hash() == record.hash);
    let bundle = bundle.ok_or_else(|| wrong("a copy in it is not what was trusted".to_owned()))?;
    Ok(Some(Trusted { workspace: record.workspace.into(), since: record.since, bundle }))
}

fn copy(file: &Content) -> Copy {
    let (text, base64) = match str::from_utf8(&file.bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(BASE64_STANDARD.encode(&file.bytes))),
    };
    Copy { path: file.path.clone(), hash: file.hash(), text, base64 }
}

fn content(copy: Copy) -> Option<Content> {
    let bytes = match (copy.text, copy.base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(base64)) => BASE64_STANDARD.decode(base64).ok()?,
        _ => return None,
    };
    let content = Content { path: copy.path, bytes };
    (content.hash() == copy.hash).then_some(content)
}
