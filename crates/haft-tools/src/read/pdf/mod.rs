//! The pages of a PDF: their text, or a picture of a page that has none.
//!
//! A PDF is a program that strangers wrote. It is looked at before it is unpacked ([`guard`]), runs on a thread of its
//! own with a deep stack, and is stopped when it takes too long: whatever it does, it ends in a fault.

mod choice; // which pages are asked for
mod guard; //  what is refused before it is unpacked
mod pen; //    what a page writes, and what it would cost to draw
mod draw; //   a picture of a page

use std::{
    fmt::Display,
    panic, thread,
    time::{Duration, Instant},
};

use haft_tool::{Block, Fault};
use hayro::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use self::{choice::Choice, pen::Written};

/// More pages than this must be asked for by number.
const MOST_UNASKED: usize = 10;
/// In one call.
pub(super) const MOST_PAGES: usize = 20;
const MOST_PICTURES: usize = 10;
const MOST_TIME: Duration = Duration::from_secs(20);
/// Objects in objects in objects need a deep stack; what is not used of it costs nothing.
const STACK: usize = 256 * 1024 * 1024;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// Each page's number from 1, and its text.
    pub(crate) units: Vec<(u64, String)>,
    /// How many the file has.
    pub(crate) total: usize,
    pub(crate) pictures: Vec<Block>,
    /// What is left out.
    pub(crate) tail: String,
}

/// Why a PDF is not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Encrypted,
    Broken,
    /// It would unpack to more than anybody has room for.
    Bomb(&'static str),
    TooSlow,
    Cancelled,
    /// The pages that were asked for make no sense.
    Choice(String),
}

impl Refused {
    pub(crate) fn fault(self, path: &dyn Display) -> Fault {
        match self {
            Refused::Encrypted => {
                Fault::failed(format!("{path} is an encrypted PDF file and cannot be read"))
            }
            Refused::Broken => {
                Fault::failed(format!("{path} is a PDF file that is broken and cannot be read"))
            }
            Refused::Bomb(why) => Fault::failed(format!("{path} is a PDF file that is not read: {why}")),
            Refused::TooSlow => Fault::failed(format!(
                "{path} takes too long to read ({} seconds); ask for fewer pages",
                MOST_TIME.as_secs()
            )),
            Refused::Cancelled => Fault::cancelled("stopped before all pages were read"),
            Refused::Choice(words) => Fault::rejected(format!("{path} {words}")),
        }
    }
}

/// How long it may go on.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    until: Instant,
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Patience<'_> {
    fn check(&self) -> Result<(), Refused> {
        if (self.is_cancelled)() {
            return Err(Refused::Cancelled);
        }
        if Instant::now() > self.until { Err(Refused::TooSlow) } else { Ok(()) }
    }

    /// Leaves whatever runs, from inside of it. The only way out of somebody else's loop.
    fn check_or_leave(&self) {
        if let Err(refused) = self.check() {
            leave(refused);
        }
    }
}

/// Unwinds without the words that a panic prints: nothing is broken.
fn leave(refused: Refused) -> ! {
    panic::resume_unwind(Box::new(refused))
}

/// Reads the pages that are asked for; all, if they are few.
pub(crate) fn read(
    bytes: Vec<u8>,
    pages: Option<&str>,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Pages, Refused> {
    read_within(bytes, pages, is_cancelled, MOST_TIME)
}

/// The same within a time of one's own choosing.
pub(crate) fn read_within(
    bytes: Vec<u8>,
    pages: Option<&str>,
    is_cancelled: &(dyn Fn() -> bool + Sync),
    time: Duration,
) -> Result<Pages, Refused> {
    let patience = Patience { until: Instant::now() + time, is_cancelled };
    let choice = pages.map(Choice::parse).transpose().map_err(Refused::Choice)?;
    guard::check(&bytes, patience)?;
    thread::scope(|scope| {
        let reader = thread::Builder::new().name("pdf".to_owned()).stack_size(STACK);
        match reader.spawn_scoped(scope, || read_pages(bytes, choice, patience)) {
            Ok(reader) => reader.join().unwrap_or_else(|payload| Err(reason(payload))),
            Err(_) => Err(Refused::Bomb("there is no thread to read it on")),
        }
    })
}

/// What ended the reader: we ourselves, or a mistake in it that the file has found.
fn reason(payload: Box<dyn std::any::Any + Send>) -> Refused {
    payload.downcast::<Refused>().map_or(Refused::Broken, |refused| *refused)
}

fn read_pages(bytes: Vec<u8>, choice: Option<Choice>, patience: Patience<'_>) -> Result<Pages, Refused> {
    let pdf = Pdf::new(bytes).map_err(|err| match err {
        LoadPdfError::Decryption(DecryptionError::InvalidEncryption) | LoadPdfError::Invalid => {
            Refused::Broken
        }
        LoadPdfError::Decryption(_) => Refused::Encrypted,
    })?;
    let total = pdf.pages().len();
    if total == 0 {
        return Err(Refused::Broken);
    }
    let chosen = choose(choice, total)?;
    let mut pages = Pages { total, ..Pages::default() };
    let cache = hayro::RenderCache::new();
    for number in chosen {
        patience.check()?;
        let page = &pdf.pages()[number - 1];
        let text = match pen::write(page, patience)? {
            Written::Text(text) => text,
            Written::Nothing(_) if pages.pictures.len() >= MOST_PICTURES => {
                "(no text; not drawn, because there are too many pictures already)\n".to_owned()
            }
            Written::Nothing(cost) => match draw::draw(page, &cache, cost, patience) {
                Ok((picture, words)) => {
                    pages.pictures.push(picture);
                    format!("(no text; see picture {} below, {words})\n", pages.pictures.len())
                }
                Err(why) => format!("(no text; not drawn, because {why})\n"),
            },
        };
        pages.units.push((number as u64, format!("[page {number}]\n{text}")));
    }
    Ok(pages)
}

fn choose(choice: Option<Choice>, total: usize) -> Result<Vec<usize>, Refused> {
    match choice {
        Some(choice) => choice.of(total).map_err(Refused::Choice),
        None if total > MOST_UNASKED => Err(Refused::Choice(format!(
            "has {total} pages; say which with `pages`, such as \"1-5\", at most {MOST_PAGES} at once"
        ))),
        None => Ok((1..=total).collect()),
    }
}

#[cfg(test)]
mod tests;
