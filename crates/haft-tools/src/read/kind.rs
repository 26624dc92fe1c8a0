//! What a file is, by what it holds. Names lie, and many have no extension.

use crate::text::Form;

/// What the beginning of a file says about the rest.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Text(Form),
    Picture(image::ImageFormat),
    Pdf,
    /// Nothing that a model could read: what it is, and what to do instead.
    Other(&'static str, Instead),
}

/// What to do with a file that cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Instead {
    /// It holds other files.
    Unpack,
    Nothing,
}

/// How much of a file is looked at.
pub(super) const HEAD: usize = 64 * 1024;

impl Kind {
    pub(super) fn of(head: &[u8]) -> Kind {
        if let Some(format) = picture(head) {
            return Kind::Picture(format);
        }
        if head.starts_with(b"%PDF-") {
            return Kind::Pdf;
        }
        let magic = MAGIC.iter().find(|magic| magic.is_in(head));
        match (magic, Form::detect(head)) {
            (Some(magic), text) if magic.is_unlike_text() || text.is_none() => {
                Kind::Other(magic.what, magic.instead)
            }
            (_, Some(form)) => Kind::Text(form),
            _ if is_late_pdf(head) => Kind::Pdf,
            _ => Kind::Other("binary data", Instead::Nothing),
        }
    }
}

fn picture(head: &[u8]) -> Option<image::ImageFormat> {
    use image::ImageFormat::{Gif, Jpeg, Png, WebP};
    match head {
        [0x89, b'P', b'N', b'G', ..] => Some(Png),
        [0xff, 0xd8, 0xff, ..] => Some(Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(WebP),
        _ => None,
    }
}

/// Some PDF files have a few bytes of something else before they begin.
fn is_late_pdf(head: &[u8]) -> bool {
    memchr::memmem::find(&head[..head.len().min(1024)], b"%PDF-").is_some()
}

/// The bytes by which a format is known.
struct Magic {
    at: usize,
    bytes: &'static [u8],
    what: &'static str,
    instead: Instead,
}

impl Magic {
    fn is_in(&self, head: &[u8]) -> bool {
        head.get(self.at..).is_some_and(|rest| rest.starts_with(self.bytes))
    }

    /// Whether no text could begin like this. A text may well begin with `MZ` or `ID3`.
    fn is_unlike_text(&self) -> bool {
        self.bytes.iter().any(|byte| !byte.is_ascii_graphic() && !byte.is_ascii_whitespace())
    }
}

const fn archive(at: usize, bytes: &'static [u8], what: &'static str) -> Magic {
    Magic { at, bytes, what, instead: Instead::Unpack }
}

const fn other(at: usize, bytes: &'static [u8], what: &'static str) -> Magic {
    Magic { at, bytes, what, instead: Instead::Nothing }
}

const MAGIC: &[Magic] = &[
    archive(0, b"PK\x03\x04", "a zip archive (as .docx, .xlsx and .jar files are, too)"),
    archive(0, b"PK\x05\x06", "an empty zip archive"),
    archive(0, b"\x1f\x8b", "a gzip archive"),
    archive(257, b"ustar", "a tar archive"),
    archive(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    archive(0, b"\xfd7zXZ\0", "an xz archive"),
    archive(0, b"\x28\xb5\x2f\xfd", "a zstd archive"),
    archive(0, b"\x04\x22\x4d\x18", "an lz4 archive"),
    archive(0, b"BZh", "a bzip2 archive"),
    archive(0, b"Rar!\x1a\x07", "a rar archive"),
    archive(0, b"!<arch>\n", "an ar archive"),
    archive(0, b"\xed\xab\xee\xdb", "an rpm package"),
    archive(0, b"hsqs", "a squashfs image"),
    archive(0x8001, b"CD001", "an ISO 9660 disk image"),
    other(0, b"\x7fELF", "an ELF program or library"),
    other(0, b"MZ", "a Windows program or library"),
    other(0, b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    other(0, b"\xce\xfa\xed\xfe", "a Mach-O program or library"),
    other(0, b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    other(0, b"\0asm", "a WebAssembly module"),
    other(0, b"dex\n03", "an Android program"),
    other(0, b"BC\xc0\xde", "LLVM bitcode"),
    other(0, b"SQLite format 3\0", "an SQLite database"),
    other(0, b"PAR1", "a Parquet file"),
    other(0, b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    other(0, b"\x93NUMPY", "a NumPy array"),
    other(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    other(0, b"GGUF", "a model in GGUF form"),
    other(0, b"DIRC", "a git index"),
    other(0, b"ID3", "an MP3 sound"),
    other(0, b"\xff\xfb", "an MP3 sound"),
    other(0, b"\xff\xf3", "an MP3 sound"),
    other(0, b"OggS", "an Ogg sound or film"),
    other(0, b"fLaC", "a FLAC sound"),
    other(8, b"WAVE", "a WAV sound"),
    other(8, b"AVI ", "an AVI film"),
    other(4, b"ftyp", "an MP4 film or a related format"),
    other(0, b"\x1a\x45\xdf\xa3", "a Matroska or WebM film"),
    other(0, b"FLV\x01", "an FLV film"),
    other(0, b"BM", "a BMP picture"),
    other(0, b"II*\0", "a TIFF picture"),
    other(0, b"MM\0*", "a TIFF picture"),
    other(0, b"\0\0\x01\0", "an icon"),
    other(0, b"8BPS", "a Photoshop picture"),
    other(0, b"\0\x01\0\0\0", "a TrueType font"),
    other(0, b"OTTO", "an OpenType font"),
    other(0, b"wOFF", "a web font"),
    other(0, b"wOF2", "a web font"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &[u8], expected: &str) {
        let found = match Kind::of(head) {
            Kind::Text(form) => form.name().to_owned(),
            Kind::Picture(format) => format!("{format:?}"),
            Kind::Pdf => "PDF".to_owned(),
            Kind::Other(what, _) => what.to_owned(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn formats_are_known_by_what_they_hold() {
        check(b"\x7fELF\x02\x01\x01\0\0\0", "an ELF program or library");
        check(b"\x89PNG\r\n\x1a\n", "Png");
        check(b"RIFF\x10\0\0\0WEBPVP8 ", "WebP");
        check(b"RIFF\x10\0\0\0WAVEfmt ", "a WAV sound");
        check(b"%PDF-1.7\n%\xe2\xe3", "PDF");
        check(b"\0\x02\0 junk %PDF-1.7\n", "PDF");
        check(b"SQLite format 3\0\x10\0", "an SQLite database");
        check(&[b"dir/name".as_slice(), &[0; 249], b"ustar"].concat(), "a tar archive");
        check(&[0, 1, 2, 0, 0, 9, 0, 0, 0], "binary data");
    }

    #[test]
    fn a_text_that_begins_like_a_program_is_text() {
        check(b"MZ is how a Windows program begins.\n", "UTF-8");
        check(b"BM, ID3, OggS: all of them are letters.\n", "UTF-8");
        check(b"GIF8 is no GIF\n", "UTF-8");
        check(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "UTF-8");
        check(b"", "UTF-8");
    }
}
