//! The form with `*** Begin Patch`: sections by file, hunks found by their lines and by headings, no line numbers.

use std::path::PathBuf;

use haft_tool::{shown, unshown};

use super::{
    names::checked,
    parse::{FilePatch, Hunk, HunkLine, Intent, Lines, ParseError, Patch, Sign},
    unified::Header,
};

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn parse<'a>(lines: &mut Lines<'a>) -> Result<Patch<'a>, ParseError> {
    lines.skip();
    let mut files = Vec::new();
    loop {
        lines.skip_blank();
        match lines.peek().map(str::trim_end) {
            Some(END) => break,
            Some(_) => files.push(file(lines)?),
            None => return ParseError::at(lines.number(), format!("no `{END}`: was the patch cut off?")),
        }
    }
    let end = lines.number();
    if lines.ahead().iter().any(|line| line.trim_end() == BEGIN) {
        return ParseError::at(end, "another patch follows; send one with all files");
    }
    if files.is_empty() {
        return ParseError::at(end, "the patch changes nothing");
    }
    Ok(Patch { files, has_modes: false })
}

fn file<'a>(lines: &mut Lines<'a>) -> Result<FilePatch<'a>, ParseError> {
    let line = lines.number();
    let (path, intent) = if let Some(name) = lines.take("*** Add File: ") {
        (path(name, line)?, Intent::Add(content(lines)?))
    } else if let Some(name) = lines.take("*** Delete File: ") {
        (path(name, line)?, Intent::Remove(Vec::new()))
    } else if let Some(name) = lines.take("*** Update File: ") {
        let (from, at) = (path(name, line)?, lines.number());
        let to = lines.take("*** Move to: ").map(|name| path(name, at)).transpose()?;
        let to = to.filter(|to| *to != from);
        (from, Intent::Update { to, hunks: hunks(lines)? })
    } else {
        return ParseError::at(
            line,
            format!(
                "`*** Update File: `, `*** Add File: `, `*** Delete File: ` or `{END}` is expected, each with a name"
            ),
        );
    };
    if let Intent::Update { to: None, hunks } = &intent
        && hunks.is_empty()
    {
        return ParseError::at(line, format!("nothing is changed in {}", shown(&path)));
    }
    Ok(FilePatch { line, path, intent })
}

fn path(name: &str, line: usize) -> Result<PathBuf, ParseError> {
    checked(&unshown(name.trim()), line)
}

/// The lines of a new file.
fn content(lines: &mut Lines<'_>) -> Result<String, ParseError> {
    let mut content = String::new();
    let mut blank = 0;
    while let Some(line) = lines.peek().filter(|line| !line.starts_with("*** ")) {
        match HunkLine::parse(line) {
            // An empty line without its sign; at the end it belongs to the patch, not to the file.
            Some(HunkLine { sign: Sign::Kept, text, .. }) if text.trim().is_empty() => blank += 1,
            Some(HunkLine { sign: Sign::Added, text, .. }) => {
                content.extend(std::iter::repeat_n('\n', std::mem::take(&mut blank)));
                content.push_str(text);
                content.push('\n');
            }
            _ => return ParseError::at(lines.number(), "every line of a new file begins with `+`"),
        }
        lines.skip();
    }
    Ok(content)
}

fn hunks<'a>(lines: &mut Lines<'a>) -> Result<Vec<Hunk<'a>>, ParseError> {
    let mut hunks = Vec::new();
    loop {
        lines.skip_blank();
        let starts_hunk = |line: &str| !line.starts_with("*** ") || line.trim_end() == END_OF_FILE;
        if !lines.peek().is_some_and(starts_hunk) {
            return Ok(hunks);
        }
        hunks.push(hunk(lines)?);
    }
}

fn hunk<'a>(lines: &mut Lines<'a>) -> Result<Hunk<'a>, ParseError> {
    let mut hunk = Hunk::starting_at(lines.number());
    while let Some(header) = lines.peek().filter(|line| line.starts_with("@@")) {
        let header = Header::parse(header, lines.number())?;
        hunk.at = header.at.or(hunk.at);
        hunk.headings.extend(header.heading);
        lines.skip();
    }
    body(lines, &mut hunk)?;
    if hunk.lines.is_empty() {
        return ParseError::at(hunk.line, "the hunk has no lines");
    }
    Ok(hunk)
}

fn body<'a>(lines: &mut Lines<'a>, hunk: &mut Hunk<'a>) -> Result<(), ParseError> {
    while let Some(line) = lines.peek().filter(|line| !line.starts_with("@@")) {
        if line.trim_end() == END_OF_FILE {
            hunk.ends_file = true;
            lines.skip();
            return Ok(());
        }
        if line.starts_with("*** ") {
            break;
        }
        hunk.push(line, lines.number())?;
        lines.skip();
    }
    hunk.without_blank_end();
    Ok(())
}
