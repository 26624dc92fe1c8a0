//! What each element is for, as far as a text has a form for it.

use super::tokens::Tag;

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Part of a line, without a form of its own.
    Plain,
    /// Part of a line, between two marks.
    Marked(&'static str),
    Link,
    Code,
    /// Stands by itself.
    Block,
    Paragraph,
    Heading(usize),
    Quote,
    List {
        ordered: bool,
    },
    Item,
    Terms,
    Term,
    Meaning,
    Preformatted,
    Table,
    RowGroup,
    Row,
    Cell {
        heading: bool,
    },
    Title,
    /// Has no end: a line end, a rule, a picture.
    Break,
    Rule,
    Picture,
    Base,
    /// Has no end and no meaning here.
    Void,
    /// For programs, or for filling in.
    Unseen,
}

impl Sort {
    pub(super) fn of(name: &str) -> Sort {
        match name {
            "b" | "strong" => Sort::Marked("**"),
            "i" | "em" | "cite" | "dfn" => Sort::Marked("*"),
            "s" | "del" | "strike" => Sort::Marked("~~"),
            "q" => Sort::Marked("\""),
            "a" => Sort::Link,
            "code" | "kbd" | "samp" | "tt" => Sort::Code,
            "p" => Sort::Paragraph,
            "h1" => Sort::Heading(1),
            "h2" => Sort::Heading(2),
            "h3" => Sort::Heading(3),
            "h4" => Sort::Heading(4),
            "h5" => Sort::Heading(5),
            "h6" => Sort::Heading(6),
            "blockquote" => Sort::Quote,
            "ul" | "menu" | "dir" => Sort::List { ordered: false },
            "ol" => Sort::List { ordered: true },
            "li" => Sort::Item,
            "dl" => Sort::Terms,
            "dt" => Sort::Term,
            "dd" => Sort::Meaning,
            "pre" | "listing" | "xmp" => Sort::Preformatted,
            "table" => Sort::Table,
            "thead" | "tbody" | "tfoot" | "caption" | "colgroup" => Sort::RowGroup,
            "tr" => Sort::Row,
            "td" => Sort::Cell { heading: false },
            "th" => Sort::Cell { heading: true },
            "title" => Sort::Title,
            "br" => Sort::Break,
            "hr" => Sort::Rule,
            "img" => Sort::Picture,
            "base" => Sort::Base,
            "area" | "col" | "embed" | "frame" | "input" | "link" | "meta" | "param" | "source" | "track"
            | "wbr" => Sort::Void,
            "script" | "style" | "template" | "svg" | "math" | "iframe" | "object" | "canvas" | "audio"
            | "video" | "select" | "datalist" | "textarea" | "button" | "noembed" | "noframes" | "map"
            | "rp" => Sort::Unseen,
            "html" | "head" | "body" | "address" | "article" | "aside" | "center" | "details" | "dialog"
            | "div" | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "frameset" | "header"
            | "hgroup" | "legend" | "main" | "nav" | "search" | "section" | "summary" => Sort::Block,
            _ => Sort::Plain,
        }
    }

    /// Whether it has no end.
    pub(super) fn is_void(self) -> bool {
        matches!(self, Sort::Break | Sort::Rule | Sort::Picture | Sort::Base | Sort::Void)
    }

    /// Whether it lives within a line.
    pub(super) fn is_inline(self) -> bool {
        use Sort::{Base, Break, Code, Link, Marked, Picture, Plain, Title, Unseen, Void};
        matches!(self, Plain | Marked(_) | Link | Code | Break | Picture | Base | Void | Title | Unseen)
    }

    /// Whether its beginning is the end of an open element of the other sort, if nothing else has begun in that.
    pub(super) fn ends(self, open: Sort) -> bool {
        use Sort::{Cell, Item, Meaning, Paragraph, Row, RowGroup, Term};
        match self {
            Item => open == Item,
            Term | Meaning => matches!(open, Term | Meaning),
            Cell { .. } => matches!(open, Cell { .. }),
            Row => matches!(open, Cell { .. } | Row),
            RowGroup => matches!(open, Cell { .. } | Row | RowGroup),
            _ => !self.is_inline() && open == Paragraph,
        }
    }

    /// Whether what begins in it cannot end what is around it.
    pub(super) fn is_wall(self, for_whom: Sort) -> bool {
        match for_whom {
            Sort::Item => matches!(self, Sort::List { .. } | Sort::Table | Sort::Cell { .. } | Sort::Quote),
            Sort::Term | Sort::Meaning => matches!(self, Sort::Terms | Sort::Table | Sort::Cell { .. }),
            Sort::Cell { .. } | Sort::Row | Sort::RowGroup => self == Sort::Table,
            _ => !self.is_inline() && self != Sort::Paragraph,
        }
    }
}

/// Whether nobody would see the element.
pub(super) fn is_hidden(tag: &Tag<'_>) -> bool {
    let says = |name: &str, wanted: &str| {
        tag.attribute(name).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
    };
    if tag.has("hidden") || says("aria-hidden", "true") {
        return true;
    }
    match &*tag.name {
        "dialog" => !tag.has("open"),
        "a" => is_anchor(tag) || is_styled_away(tag),
        _ => is_styled_away(tag),
    }
}

/// The sign beside a heading by which it can be linked to.
fn is_anchor(tag: &Tag<'_>) -> bool {
    let class = tag.attribute("class").unwrap_or_default();
    let is_within = tag.attribute("href").is_some_and(|target| target.starts_with('#'));
    is_within && (class.contains("headerlink") || class.contains("anchor"))
}

fn is_styled_away(tag: &Tag<'_>) -> bool {
    const UNSEEN: [&str; 5] =
        ["display:none", "visibility:hidden", "font-size:0;", "font-size:0px", "opacity:0;"];
    let Some(style) = tag.attribute("style") else { return false };
    let style = style.to_ascii_lowercase().replace(char::is_whitespace, "") + ";";
    UNSEEN.iter().any(|unseen| style.contains(unseen))
}
