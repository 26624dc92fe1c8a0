//! What a page writes, in the order in which it does, and what it would cost to draw.

use hayro::{
    hayro_interpret::{
        BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
        InterpreterSettings, Paint, SoftMask,
        font::{Glyph, GlyphRun, PositionedGlyph},
        hayro_cmap::BfString,
        interpret_page,
        pattern::Pattern,
    },
    hayro_syntax::{
        object::{Array, Stream, dict::keys::CONTENTS},
        page::Page,
    },
    kurbo::{Affine, BezPath, Point, Rect, Vec2},
};

use super::{Patience, Refused, draw};

/// Glyphs are drawn on a grid of so many units.
const EM: f64 = 1000.0;
/// Of one page. A book has three thousand characters on one.
const MOST_TEXT: usize = 1024 * 1024;
const MOST_STEPS: u64 = 1_000_000;
/// What the content of a page may be when it is unpacked.
const MOST_CONTENT: usize = 64 * 1024 * 1024;

/// What a page wrote.
pub(super) enum Written {
    Text(String),
    /// Nothing; this is what it would cost to draw.
    Nothing(Cost),
}

/// What drawing a page would take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) steps: u64,
    /// Pixels of pictures, as they are in the file.
    pub(super) pixels: u64,
    pub(super) layers: u64,
    /// Things that a file can make arbitrarily expensive.
    pub(super) is_tricky: bool,
}

pub(super) fn write(page: &Page<'_>, patience: Patience<'_>) -> Result<Written, Refused> {
    content(page, patience)?;
    let cache = InterpreterCache::new();
    let bounds = Rect::new(-1e6, -1e6, 1e6, 1e6);
    let mut context =
        Context::new(Affine::IDENTITY, bounds, &cache, page.xref(), InterpreterSettings::default());
    let mut pen = Pen::new(patience);
    interpret_page(page, &mut context, &mut pen);
    match pen.text.trim() {
        "" => Ok(Written::Nothing(pen.cost)),
        text => Ok(Written::Text(format!("{text}\n"))),
    }
}

/// A page may name the same content a thousand times.
fn content(page: &Page<'_>, patience: Patience<'_>) -> Result<(), Refused> {
    let Some(parts) = page.raw().get::<Array<'_>>(CONTENTS) else { return Ok(()) };
    let mut total = 0;
    for part in parts.iter::<Stream<'_>>() {
        patience.check()?;
        total += part.decoded_data().map_or(0, |data| data.len());
        if total > MOST_CONTENT {
            return Err(Refused::Bomb("a page of it unpacks to more than 64 MB"));
        }
    }
    Ok(())
}

/// Takes down what is written instead of drawing it.
struct Pen<'p> {
    text: String,
    /// Where the last glyph ended.
    end: Option<Point>,
    /// Where the last run began, by which a text that is drawn twice is told.
    run: Option<(Point, usize)>,
    cost: Cost,
    depth: u64,
    patience: Patience<'p>,
}

impl<'p> Pen<'p> {
    fn new(patience: Patience<'p>) -> Pen<'p> {
        Pen { text: String::new(), end: None, run: None, cost: Cost::default(), depth: 0, patience }
    }

    fn step(&mut self, steps: usize) {
        self.cost.steps += steps as u64;
        if self.cost.steps > MOST_STEPS {
            super::leave(Refused::Bomb("a page of it has too many parts"));
        }
        self.patience.check_or_leave();
    }

    fn glyph(&mut self, glyph: &PositionedGlyph<'_>, transform: Affine) {
        let transform = transform * glyph.transform();
        let start = transform * Point::ZERO;
        let along = transform * Point::new(EM, 0.0) - start;
        let up = transform * Point::new(0.0, EM) - start;
        let word = match glyph.as_unicode() {
            Some(BfString::Char(c)) => c.to_string(),
            Some(BfString::String(word)) => word,
            None => char::REPLACEMENT_CHARACTER.to_string(),
        };
        self.gap(start, along, up, word.starts_with(char::is_whitespace));
        self.text.extend(word.chars().map(|c| if c.is_control() { ' ' } else { c }));
        self.end = Some(transform * Point::new(advance(glyph), 0.0));
    }

    /// What stands between the last glyph and this one: nothing, a space, a new line or a new paragraph.
    fn gap(&mut self, start: Point, along: Vec2, up: Vec2, is_blank: bool) {
        let (Some(end), size) = (self.end, up.hypot()) else { return };
        let length = along.hypot();
        if !(size.is_normal() && length.is_normal()) {
            return;
        }
        let way = start - end;
        let forward = way.dot(along) / length / size;
        let aside = way.cross(along).abs() / length / size;
        let has_blank = is_blank || self.text.ends_with(char::is_whitespace);
        if aside > 2.2 {
            self.text.push_str("\n\n");
        } else if aside > 0.6 || forward < -1.0 {
            self.text.push('\n');
        } else if forward > 2.0 {
            // Columns of a table.
            self.text.push_str("  ");
        } else if forward > 0.15 && !has_blank {
            self.text.push(' ');
        }
    }

    fn paint(&mut self, paint: &Paint<'_>) {
        let is_tiled = matches!(paint, Paint::Pattern(pattern) if matches!(**pattern, Pattern::Tiling(_)));
        self.cost.is_tricky |= is_tiled;
    }

    fn props(&mut self, props: &DrawProps<'_>) {
        self.paint(&props.paint);
        self.cost.is_tricky |= props.soft_mask.is_some();
    }
}

fn advance(glyph: &Glyph<'_>) -> f64 {
    let width = match glyph {
        Glyph::Outline(glyph) => glyph.advance_width(),
        Glyph::Type3(glyph) => glyph.advance_width(),
    };
    width.map_or(EM / 2.0, f64::from)
}

impl<'a> Device<'a> for Pen<'_> {
    fn draw_path(&mut self, path: &BezPath, props: DrawProps<'a>, _: &DrawMode) {
        self.step(1 + path.elements().len() / 8);
        self.props(&props);
    }

    fn push_clip_path(&mut self, clip: &ClipPath) {
        self.step(1 + clip.path.elements().len() / 8);
    }

    fn push_transparency_group(&mut self, _: f32, mask: Option<SoftMask<'a>>, _: BlendMode) {
        self.step(1);
        self.cost.layers += 1;
        self.depth += 1;
        self.cost.is_tricky |= mask.is_some() || self.depth > 8;
    }

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        self.step(1 + run.glyphs().len());
        self.props(&props);
        self.cost.is_tricky |= run.glyphs().iter().any(|glyph| matches!(**glyph, Glyph::Type3(_)));
        let start = run.glyphs().first().map(|glyph| props.transform * glyph.transform() * Point::ZERO);
        let this = start.map(|start| (start, run.glyphs().len()));
        // Filled and then stroked, or drawn twice to look bold: it is one text.
        if std::mem::replace(&mut self.run, this) == this {
            return;
        }
        for glyph in run.glyphs() {
            if self.text.len() < MOST_TEXT {
                self.glyph(glyph, props.transform);
            }
        }
    }

    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        self.step(1);
        self.cost.is_tricky |= props.soft_mask.is_some();
        match draw::pixels(&image) {
            Some(pixels) => self.cost.pixels = self.cost.pixels.saturating_add(pixels),
            None => self.cost.is_tricky = true,
        }
    }

    fn pop_clip(&mut self) {
        self.step(1);
    }

    fn pop_transparency_group(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.step(1);
    }
}
