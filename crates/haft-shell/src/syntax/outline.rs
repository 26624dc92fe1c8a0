//! The tree as one line of brackets: for tests, and for whoever wants to see what was understood.

use std::fmt::Write;

use super::tree::*;

/// The shape of a script, without its places: two texts with the same outline mean the same.
pub fn outline(script: &Script) -> String {
    let mut out = String::new();
    write_script(&mut out, script);
    out
}

fn write_script(out: &mut String, script: &Script) {
    for (number, item) in script.items.iter().enumerate() {
        out.push_str(if number > 0 { " " } else { "" });
        write_item(out, item);
    }
}

fn write_item(out: &mut String, item: &Item) {
    out.push_str(if item.background { "(& " } else { "" });
    out.push_str(&"(".repeat(item.rest.len()));
    write_pipeline(out, &item.first);
    for (connector, pipeline) in &item.rest {
        out.push_str(if *connector == Connector::And { " && " } else { " || " });
        write_pipeline(out, pipeline);
        out.push(')');
    }
    out.push_str(if item.background { ")" } else { "" });
}

fn write_pipeline(out: &mut String, pipeline: &Pipeline) {
    let marks =
        [("(not ", pipeline.negated), ("(time ", pipeline.timed), ("(pipe ", pipeline.commands.len() > 1)];
    let marks = marks.into_iter().filter(|(_, is_there)| *is_there);
    let depth = marks.map(|(mark, _)| out.push_str(mark)).count();
    for (number, command) in pipeline.commands.iter().enumerate() {
        out.push_str(if number > 0 { " " } else { "" });
        write_command(out, command);
    }
    out.push_str(&")".repeat(depth));
}

fn write_command(out: &mut String, command: &Command) {
    out.push('(');
    write_kind(out, &command.kind);
    for redirect in &command.redirects {
        out.push(' ');
        write_redirect(out, redirect);
    }
    out.push(')');
}

fn write_kind(out: &mut String, kind: &CommandKind) {
    match kind {
        CommandKind::Simple { assignments, words } => write_simple(out, assignments, words),
        CommandKind::Group(script) => write_named(out, "group", &[script]),
        CommandKind::Subshell(script) => write_named(out, "subshell", &[script]),
        CommandKind::If { arms, otherwise } => {
            let scripts: Vec<&Script> = arms.iter().flat_map(|(condition, then)| [condition, then]).collect();
            write_named(out, "if", &scripts);
            if let Some(script) = otherwise {
                write_named(out, " else", &[script]);
            }
        }
        CommandKind::While { until, condition, body } => {
            write_named(out, if *until { "until" } else { "while" }, &[condition, body])
        }
        CommandKind::For { select, name, words, body } => {
            let _ = write!(out, "{} {name}", if *select { "select" } else { "for" });
            if let Some(words) = words {
                out.push_str(" in");
                write_words(out, words);
            }
            write_named(out, "", &[body]);
        }
        CommandKind::ArithmeticFor { expression, body } => {
            out.push_str("for ");
            write_word(out, expression);
            write_named(out, "", &[body]);
        }
        CommandKind::Case { word, arms } => write_case(out, word, arms),
        CommandKind::Arithmetic(word) => {
            out.push_str("arithmetic ");
            write_word(out, word);
        }
        CommandKind::Test(words) => {
            out.push_str("test");
            write_words(out, words);
        }
        CommandKind::Function { name, body } => {
            out.push_str("function ");
            write_word(out, name);
            out.push(' ');
            write_command(out, body);
        }
        CommandKind::Odd(what, script) => write_named(out, &format!("odd {what:?}"), &[script]),
    }
}

fn write_simple(out: &mut String, assignments: &[Assignment], words: &[Word]) {
    let mut blank = "";
    for assignment in assignments {
        out.push_str(std::mem::replace(&mut blank, " "));
        write_assignment(out, assignment);
    }
    for word in words {
        out.push_str(std::mem::replace(&mut blank, " "));
        write_word(out, word);
    }
}

fn write_assignment(out: &mut String, assignment: &Assignment) {
    let _ = write!(out, "(set {}", assignment.name);
    if let Some(index) = &assignment.index {
        out.push_str(" (at ");
        write_word(out, index);
        out.push(')');
    }
    out.push_str(if assignment.append { " += " } else { " = " });
    match &assignment.value {
        AssignedValue::Scalar(word) => write_word(out, word),
        AssignedValue::Array(words) => {
            out.push_str("(array");
            write_words(out, words);
            out.push(')');
        }
    }
    out.push(')');
}

fn write_case(out: &mut String, word: &Word, arms: &[(Vec<Word>, Script, ArmEnd)]) {
    out.push_str("case ");
    write_word(out, word);
    for (patterns, body, end) in arms {
        out.push_str(" (");
        write_words(out, patterns);
        write_named(out, " =>", &[body]);
        out.push_str(match end {
            ArmEnd::Leave => ")",
            ArmEnd::FallThrough => " ;&)",
            ArmEnd::TestOn => " ;;&)",
        });
    }
}

fn write_named(out: &mut String, name: &str, scripts: &[&Script]) {
    out.push_str(name);
    for script in scripts {
        out.push_str(" {");
        write_script(out, script);
        out.push('}');
    }
}

fn write_redirect(out: &mut String, redirect: &Redirect) {
    match &redirect.descriptor {
        Some(Descriptor::Number(number)) => {
            let _ = write!(out, "{number}");
        }
        Some(Descriptor::Variable(name)) => {
            let _ = write!(out, "{{{name}}}");
        }
        None => {}
    }
    let (meaning, word) = match &redirect.kind {
        RedirectKind::Read(word) => ("read", word),
        RedirectKind::Write(word) => ("write", word),
        RedirectKind::ReadWrite(word) => ("both", word),
        RedirectKind::Duplicate(word) => ("copy", word),
        RedirectKind::HereDocument(word) => ("here", word),
        RedirectKind::HereString(word) => ("text", word),
    };
    // How a here-document was written is nobody's business: its body is the same.
    let operator = if meaning == "here" { "<<" } else { redirect.operator };
    let _ = write!(out, "{operator}({meaning} ");
    write_word(out, word);
    out.push(')');
}

fn write_words(out: &mut String, words: &[Word]) {
    for word in words {
        out.push(' ');
        write_word(out, word);
    }
}

/// A word of plain text is itself; others are in brackets.
fn write_word(out: &mut String, word: &Word) {
    match word.parts.as_slice() {
        [] => out.push_str("[]"),
        [Part::Literal(text)] if is_plain(text) => out.push_str(text),
        [part] => write_part(out, part),
        parts => write_parts(out, '[', parts, ']'),
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:+%,@!".contains(&byte))
}

fn write_parts(out: &mut String, open: char, parts: &[Part], close: char) {
    out.push(open);
    for (number, part) in parts.iter().enumerate() {
        out.push_str(if number > 0 { " " } else { "" });
        write_part(out, part);
    }
    out.push(close);
}

fn write_part(out: &mut String, part: &Part) {
    let _ = match part {
        Part::Literal(text) => write!(out, "<{}>", text.escape_debug()),
        Part::Quoted(text) => write!(out, "'{}'", text.escape_debug()),
        Part::Double(parts) => {
            write_parts(out, '"', parts, '"');
            Ok(())
        }
        Part::Translated(parts) => {
            out.push('$');
            write_parts(out, '"', parts, '"');
            Ok(())
        }
        Part::Tilde(name) => write!(out, "~{name}"),
        Part::Glob(text) => write!(out, "(glob {})", text.escape_debug()),
        Part::Brace(words) => {
            out.push_str("(one-of");
            write_words(out, words);
            out.write_char(')')
        }
        Part::Range(text) => write!(out, "(range {text})"),
        Part::Variable(name) => write!(out, "${name}"),
        Part::Parameter { name, operator, words } => {
            let _ = write!(out, "${{{name} {operator}");
            write_words(out, words);
            out.write_char('}')
        }
        Part::Command(script) => {
            write_named(out, "$", &[script]);
            Ok(())
        }
        Part::Arithmetic(word) => {
            out.push_str("(calc ");
            write_word(out, word);
            out.write_char(')')
        }
        Part::Process(flow, script) => {
            write_named(out, if *flow == Flow::From { "<" } else { ">" }, &[script]);
            Ok(())
        }
        Part::Odd(what, text) => write!(out, "(odd {what:?} {text:?})"),
    };
}
