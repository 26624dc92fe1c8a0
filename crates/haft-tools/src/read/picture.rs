//! A picture, as small as a model needs it.
//!
//! Every picture is decoded, also one that could go on as it is: an API that refuses a broken picture refuses the whole
//! conversation. What a header promises is judged before anything is unpacked.

use std::{fmt, io::Cursor};

use haft_engine::result::size;
use haft_tool::Block;
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits,
    codecs::{jpeg::JpegEncoder, webp::WebPDecoder},
    imageops::FilterType,
    metadata::Orientation,
};

/// What a model is charged for: about a token per 750 pixels, 1,600 tokens at most.
const MOST_PIXELS: u64 = 1600 * 750;
const LONGEST_SIDE: u32 = 1568;
/// Larger files are written anew.
const MOST_BYTES: usize = 3_500_000;
/// What is unpacked at all: 40 million pixels are the largest screens and most cameras.
const MOST_UNPACKED: u64 = 40_000_000;
const MOST_MEMORY: u64 = 256 * 1024 * 1024;

/// A picture to show.
#[derive(Debug)]
pub(crate) struct Picture {
    format: ImageFormat,
    /// Width and height as it is to be looked at.
    original: (u32, u32),
    shown: (u32, u32),
    is_animated: bool,
    source: ImageFormat,
    data: Vec<u8>,
}

/// Why a picture is not shown. Displayed, it follows the name of the file.
#[derive(Debug)]
pub(crate) enum Refused {
    TooLarge(ImageFormat, u32, u32),
    Broken(ImageFormat, ImageError),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::TooLarge(format, width, height) => write!(
                f,
                "is a {} picture of {width}×{height} pixels; at most {} million can be read",
                name(*format),
                MOST_UNPACKED / 1_000_000
            ),
            Refused::Broken(format, err) => {
                write!(f, "is a {} picture that cannot be read: {err}", name(*format))
            }
        }
    }
}

impl Picture {
    pub(crate) fn of(bytes: Vec<u8>, format: ImageFormat) -> Result<Picture, Refused> {
        let broken = |err| Refused::Broken(format, err);
        let (picture, orientation) = unpack(&bytes, format)?;
        let is_animated = is_animated(&bytes, format);
        let size = (picture.width(), picture.height());
        let fitting = fitting(size);
        let (original, shown) = (turned_size(size, orientation), turned_size(fitting, orientation));
        let is_fine = shown == original && orientation == Orientation::NoTransforms && !is_animated;
        if is_fine && bytes.len() <= MOST_BYTES {
            return Ok(Picture { format, original, shown, is_animated, source: format, data: bytes });
        }
        drop(bytes);
        // Turned when it is small already: a turned picture is another picture beside the first.
        let mut picture = scaled(picture, fitting);
        picture.apply_orientation(orientation);
        let (data, written) = pack(&picture, format).map_err(broken)?;
        Ok(Picture { format: written, original, shown, is_animated, source: format, data })
    }

    /// "PNG, 4000×3000 pixels, shown as 1264×948".
    pub(crate) fn words(&self) -> String {
        let Picture { original: (width, height), shown, .. } = self;
        let mut words = format!("{}, {width}×{height} pixels", name(self.source));
        if *shown != self.original {
            words += &format!(", shown as {}×{}", shown.0, shown.1);
        }
        if self.is_animated {
            words += ", the first frame of several";
        }
        words
    }

    pub(crate) fn into_block(self) -> Block {
        Block::Image { media_type: self.format.to_mime_type().to_owned(), data: self.data }
    }
}

fn name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Gif => "GIF",
        ImageFormat::WebP => "WebP",
        _ => "strange",
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    limits
}

fn unpack(bytes: &[u8], format: ImageFormat) -> Result<(DynamicImage, Orientation), Refused> {
    let broken = |err| Refused::Broken(format, err);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits());
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let is_too_large =
        u64::from(width) * u64::from(height) > MOST_UNPACKED || decoder.total_bytes() > MOST_MEMORY;
    if is_too_large {
        return Err(Refused::TooLarge(format, width, height));
    }
    // A picture whose orientation cannot be read is shown as it lies.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder).map_err(broken)?, orientation))
}

fn is_animated(bytes: &[u8], format: ImageFormat) -> bool {
    match format {
        ImageFormat::Gif => gif_frames(bytes).nth(1).is_some(),
        ImageFormat::WebP => {
            WebPDecoder::new(Cursor::new(bytes)).is_ok_and(|decoder| decoder.has_animation())
        }
        _ => false,
    }
}

/// Where the frames of a GIF begin. Found, not unpacked: a frame may be large.
fn gif_frames(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let palette = |flags: Option<&u8>| match flags {
        Some(flags) if flags & 0x80 != 0 => 3 << ((flags & 7) + 1),
        _ => 0,
    };
    let mut at = 13 + palette(bytes.get(10));
    std::iter::from_fn(move || {
        loop {
            let block = at;
            let kind = bytes.get(block)?;
            at = match kind {
                b'!' => after_chunks(bytes, block + 2)?,
                b',' => after_chunks(bytes, block + 11 + palette(bytes.get(block + 9)))?,
                _ => return None,
            };
            if *kind == b',' {
                return Some(block);
            }
        }
    })
}

/// Chunks of a GIF are a length and so many bytes; the last is empty.
fn after_chunks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}

fn turned_size((width, height): (u32, u32), orientation: Orientation) -> (u32, u32) {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    match orientation {
        Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH => (height, width),
        _ => (width, height),
    }
}

/// The largest size in the same proportions that a model looks at as a whole.
fn fitting((width, height): (u32, u32)) -> (u32, u32) {
    let pixels = f64::from(width) * f64::from(height);
    let by_side = f64::from(LONGEST_SIDE) / f64::from(width.max(height).max(1));
    let by_pixels = (MOST_PIXELS as f64 / pixels.max(1.0)).sqrt();
    let scale = by_side.min(by_pixels);
    if scale >= 1.0 {
        return (width, height);
    }
    let side = |side: u32| ((f64::from(side) * scale).round() as u32).max(1);
    (side(width), side(height))
}

fn scaled(picture: DynamicImage, (width, height): (u32, u32)) -> DynamicImage {
    let picture = match picture.color().has_alpha() {
        true => DynamicImage::ImageRgba8(picture.into_rgba8()),
        false => DynamicImage::ImageRgb8(picture.into_rgb8()),
    };
    if (picture.width(), picture.height()) == (width, height) {
        return picture;
    }
    // Far down, averages look as good and need a fraction of the memory.
    if picture.width() / width >= 2 {
        return picture.thumbnail_exact(width, height);
    }
    picture.resize_exact(width, height, FilterType::CatmullRom)
}

/// Photographs as JPEG, everything else as PNG unless that is too large.
fn pack(picture: &DynamicImage, source: ImageFormat) -> Result<(Vec<u8>, ImageFormat), ImageError> {
    let mut out = Cursor::new(Vec::new());
    if source != ImageFormat::Jpeg {
        picture.write_to(&mut out, ImageFormat::Png)?;
        if out.get_ref().len() <= MOST_BYTES {
            return Ok((out.into_inner(), ImageFormat::Png));
        }
        out = Cursor::new(Vec::new());
    }
    let encoder = JpegEncoder::new_with_quality(&mut out, 85);
    picture.to_rgb8().write_with_encoder(encoder)?;
    debug_assert!(out.get_ref().len() <= MOST_BYTES, "{}", size(out.get_ref().len()));
    Ok((out.into_inner(), ImageFormat::Jpeg))
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;

    fn drawn(width: u32, height: u32) -> DynamicImage {
        // The left half is red, the right half blue.
        let colour = |x, _| if x < width / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) };
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, colour))
    }

    fn packed(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    #[test]
    fn a_small_picture_goes_on_byte_for_byte() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let bytes = packed(&drawn(40, 30), format);
            let picture = Picture::of(bytes.clone(), format).unwrap();
            assert_eq!(picture.data, bytes);
            assert_eq!(picture.words(), format!("{}, 40×30 pixels", name(format)));
        }
    }

    #[test]
    fn a_large_picture_is_scaled_to_what_a_model_sees() {
        let bytes = packed(&drawn(4000, 1000), ImageFormat::Png);
        let picture = Picture::of(bytes, ImageFormat::Png).unwrap();
        assert_eq!(picture.words(), "PNG, 4000×1000 pixels, shown as 1568×392");
        let shown = image::load_from_memory(&picture.data).unwrap();
        assert_eq!((shown.width(), shown.height()), (1568, 392));
        assert_eq!(fitting((2000, 2000)), (1095, 1095));
        assert_eq!(fitting((100_000, 1)), (1568, 1));
    }

    #[test]
    fn a_picture_is_shown_the_way_up_that_its_camera_says() {
        let mut bytes = packed(&drawn(40, 20), ImageFormat::Jpeg);
        // Exif with one entry, orientation 6: to be turned by 90 degrees.
        let exif = b"\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        bytes.splice(2..2, exif.iter().copied());
        let picture = Picture::of(bytes, ImageFormat::Jpeg).unwrap();
        assert_eq!(picture.words(), "JPEG, 20×40 pixels");
        let shown = image::load_from_memory(&picture.data).unwrap().to_rgb8();
        assert!(shown.get_pixel(10, 5).0[0] > 200 && shown.get_pixel(10, 35).0[2] > 200);
    }

    #[test]
    fn of_a_moving_picture_the_first_frame_is_shown_and_that_is_said() {
        let mut out = Vec::new();
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut out);
        let frames = [drawn(8, 8), drawn(8, 8)].map(|frame| image::Frame::new(frame.into_rgba8()));
        encoder.encode_frames(frames).unwrap();
        drop(encoder);
        let picture = Picture::of(out, ImageFormat::Gif).unwrap();
        assert_eq!(picture.words(), "GIF, 8×8 pixels, the first frame of several");
        assert_eq!(picture.format, ImageFormat::Png);
        let still = packed(&drawn(8, 8), ImageFormat::Gif);
        assert_eq!(gif_frames(&still).count(), 1);
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        let mut bytes = packed(&drawn(1, 1), ImageFormat::Png);
        bytes[16..24].copy_from_slice(&[0, 0, 0xc3, 0x50, 0, 0, 0xc3, 0x50]);
        let crc = crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.to_be_bytes());
        let refused = Picture::of(bytes, ImageFormat::Png).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "is a PNG picture of 50000×50000 pixels; at most 40 million can be read"
        );
    }

    #[test]
    fn a_broken_picture_is_not_passed_on() {
        let mut bytes = packed(&drawn(200, 100), ImageFormat::Png);
        bytes.truncate(bytes.len() / 2);
        let refused = Picture::of(bytes, ImageFormat::Png).unwrap_err().to_string();
        assert!(refused.starts_with("is a PNG picture that cannot be read: "), "{refused}");
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8)
                .fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
        })
    }
}
