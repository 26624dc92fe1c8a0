//! A picture of a page that has no text: a scan, mostly.
//!
//! Only what was measured is drawn. A file can make some things arbitrarily expensive in a few bytes (tiles, masks,
//! glyphs that are drawings themselves); a page that needs them is not drawn.

use std::{fmt, io::Cursor};

use haft_tool::Block;
use hayro::{
    PixmapSettings, RenderCache, RenderSettings,
    hayro_interpret::{Image, InterpreterSettings},
    hayro_syntax::{
        Filter,
        object::{
            Dict, Stream,
            dict::keys::{COLUMNS, DECODE_PARMS, DP, HEIGHT, MASK, SMASK, WIDTH},
        },
        page::Page,
    },
    vello_cpu::color::palette::css::WHITE,
};
use image::{DynamicImage, ImageFormat, RgbaImage};

use super::{Patience, pen::Cost};
use crate::read::picture::Picture;

const MOST_STEPS: u64 = 200_000;
const MOST_LAYERS: u64 = 500;
const MOST_PIXELS: u64 = 60_000_000;
/// As sharp as a model sees it: about 1.2 million pixels, 1568 at most on a side.
const LONGEST_SIDE: f32 = 1568.0;
const AREA: f32 = 1_200_000.0;

/// Why a page is not drawn.
#[derive(Debug, Clone, Copy)]
pub(super) enum Undrawn {
    TooMuch,
    Odd,
}

impl fmt::Display for Undrawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undrawn::TooMuch => "it would cost too much",
            Undrawn::Odd => "it cannot be drawn",
        })
    }
}

/// Draws a page, and says how large.
pub(super) fn draw<'a>(
    page: &'a Page<'a>,
    cache: &RenderCache<'a>,
    cost: Cost,
    patience: Patience<'_>,
) -> Result<(Block, String), Undrawn> {
    let is_too_much = cost.is_tricky
        || cost.steps > MOST_STEPS
        || cost.layers > MOST_LAYERS
        || cost.pixels > MOST_PIXELS
        || patience.check().is_err();
    if is_too_much {
        return Err(Undrawn::TooMuch);
    }
    let scale = scale(page.render_dimensions()).ok_or(Undrawn::Odd)?;
    let pixmap_settings = PixmapSettings { x_scale: scale, y_scale: scale, bg_color: WHITE };
    let pixmap = hayro::render(
        page,
        cache,
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &pixmap_settings,
    );
    let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    let picture =
        RgbaImage::from_raw(width, height, pixmap.data_as_u8_slice().to_vec()).ok_or(Undrawn::Odd)?;
    let mut png = Cursor::new(Vec::new());
    // On white, so that nothing shines through.
    let picture = DynamicImage::ImageRgba8(picture).into_rgb8();
    picture.write_to(&mut png, ImageFormat::Png).map_err(|_| Undrawn::Odd)?;
    let picture = Picture::of(png.into_inner(), ImageFormat::Png).map_err(|_| Undrawn::Odd)?;
    Ok((picture.into_block(), format!("{width}×{height} pixels")))
}

/// How many pixels a point becomes.
fn scale((width, height): (f32, f32)) -> Option<f32> {
    let is_page = |side: f32| (1.0..=20_000.0).contains(&side);
    if !(is_page(width) && is_page(height)) {
        return None;
    }
    let scale = (LONGEST_SIDE / width.max(height)).min((AREA / (width * height)).sqrt()).min(4.0);
    (width * scale >= 1.0 && height * scale >= 1.0).then_some(scale)
}

/// How many pixels a picture in a file will be unpacked to; none if that cannot be told beforehand.
pub(super) fn pixels(image: &Image<'_, '_>) -> Option<u64> {
    let stream = match image {
        Image::Stencil(image) => image.stream(),
        Image::Raster(image) => image.stream(),
    };
    let own = stream_pixels(stream, (image.width(), image.height()))?;
    let mask = [SMASK, MASK].into_iter().find_map(|key| stream.dict().get::<Stream<'_>>(key));
    match mask {
        Some(mask) => {
            let side = |key| mask.dict().get::<u32>(key);
            Some(own + stream_pixels(&mask, (side(WIDTH)?, side(HEIGHT)?))?)
        }
        None => Some(own),
    }
}

fn stream_pixels(stream: &Stream<'_>, (width, height): (u32, u32)) -> Option<u64> {
    let promised = u64::from(width) * u64::from(height);
    let found = match stream.filters().as_slice() {
        // What unpacks to plain rows was looked at when the file was.
        [] | [Filter::FlateDecode | Filter::LzwDecode | Filter::RunLengthDecode] => promised,
        [Filter::Ascii85Decode | Filter::AsciiHexDecode] => promised,
        [Filter::Ascii85Decode | Filter::AsciiHexDecode, Filter::FlateDecode | Filter::LzwDecode] => promised,
        [Filter::DctDecode] => jpeg_pixels(&stream.raw_data())?,
        [Filter::JpxDecode] => jpx_pixels(&stream.raw_data())?,
        [Filter::CcittFaxDecode] => fax_columns(stream).unwrap_or(1728) * u64::from(height),
        [Filter::Jbig2Decode] => jbig2_pixels(&stream.raw_data())?,
        _ => return None,
    };
    Some(found.max(promised))
}

fn be(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + len)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// From the header of its frame.
fn jpeg_pixels(bytes: &[u8]) -> Option<u64> {
    let mut at = 2;
    while *bytes.get(at)? == 0xff {
        let marker = *bytes.get(at + 1)?;
        if matches!(marker, 0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc)) {
            return Some(be(bytes, at + 5, 2)? * be(bytes, at + 7, 2)?);
        }
        at += if marker == 0xff { 1 } else { 2 + usize::try_from(be(bytes, at + 2, 2)?).ok()? };
    }
    None
}

/// From the marker of its size, once for each colour beyond four.
fn jpx_pixels(bytes: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(bytes, b"\xff\x4f\xff\x51")? + 4;
    let colours = be(bytes, at + 36, 2)?;
    let is_only = memchr::memmem::find_iter(bytes, b"\xff\x4f\xff\x51").count() == 1;
    let pixels = be(bytes, at + 4, 4)?.checked_mul(be(bytes, at + 8, 4)?)?;
    (is_only && colours <= 5).then_some(pixels)
}

/// Only pictures of plain regions: what a dictionary of symbols holds is known when it is unpacked.
fn jbig2_pixels(bytes: &[u8]) -> Option<u64> {
    let (mut at, mut pixels) = (0, 0u64);
    while at < bytes.len() {
        let flags = be(bytes, at + 4, 1)?;
        let refers = be(bytes, at + 5, 1)? >> 5;
        let header = if flags & 0x40 == 0 { 11 } else { 14 };
        let length = usize::try_from(be(bytes, at + header - 4, 4)?).ok()?;
        if refers != 0 {
            return None;
        }
        let data = at + header;
        match flags & 63 {
            48 | 36 | 38 | 39 => pixels += be(bytes, data, 4)?.checked_mul(be(bytes, data + 4, 4)?)?,
            49..=51 => {}
            _ => return None,
        }
        at = data.checked_add(length)?;
    }
    Some(pixels)
}

fn fax_columns(stream: &Stream<'_>) -> Option<u64> {
    let dict = stream.dict();
    let parameters = dict.get::<Dict<'_>>(DP).or_else(|| dict.get::<Dict<'_>>(DECODE_PARMS))?;
    parameters.get::<u32>(COLUMNS).map(u64::from)
}
