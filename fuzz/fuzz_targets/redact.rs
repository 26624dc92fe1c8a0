//! Text with secrets, however it is cut: the same comes out as of the whole, and little is kept back.
#![no_main]

use std::sync::{Arc, LazyLock};

use haft_redact::{Redactor, Stream};
use libfuzzer_sys::fuzz_target;

static REDACTOR: LazyLock<Arc<Redactor>> =
    LazyLock::new(|| Arc::new(Redactor::builder().secret("blue-horse-42-lamp").build()));

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    // Long lines take another way; a byte decides how long.
    let text = text.repeat(1 + usize::from(*first % 8) * 8);
    let whole = REDACTOR.redact(&text);
    let (mut stream, mut out) = (Stream::new(REDACTOR.clone()), Vec::new());
    for piece in text.as_bytes().chunks(1 + usize::from(*first)) {
        stream.push_bytes(piece, &mut out);
        assert!(stream.held() <= Stream::HELD);
    }
    stream.finish_bytes(&mut out);
    assert_eq!(String::from_utf8(out).expect("text stays text"), whole.text);
});
