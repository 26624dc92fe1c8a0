//! What is read from answers while they come: transcripts in `streams/`, one folder for each API.
//!
//! A `.sse` file is a stream, a `.json` file an answer in one piece. The golden file of each has the events, and how the
//! message goes back to the same API and to the others.

use std::{fs, path::PathBuf, sync::OnceLock};

use haft_model::{Decoder, Dialect, History, Message, RequestOptions, StreamEvent};

/// The API, a name, the bytes.
type Transcript = (Dialect, String, Vec<u8>);

/// All transcripts.
pub(crate) fn transcripts() -> &'static [Transcript] {
    static READ: OnceLock<Vec<Transcript>> = OnceLock::new();
    READ.get_or_init(read_transcripts)
}

fn read_transcripts() -> Vec<Transcript> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/streams");
    let mut found = Vec::new();
    for dialect in Dialect::ALL {
        let folder = fs::read_dir(root.join(dialect.name())).expect("a folder for each dialect");
        let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            found.push((dialect, name, fs::read(path).expect("a transcript")));
        }
    }
    found
}

/// The events of an answer that comes in pieces of so many bytes.
pub(crate) fn decode(dialect: Dialect, bytes: &[u8], step: usize) -> Vec<StreamEvent> {
    let mut decoder = Decoder::seeded(dialect, 7);
    let mut events: Vec<StreamEvent> =
        bytes.chunks(step.max(1)).flat_map(|chunk| decoder.feed(chunk)).collect();
    events.extend(decoder.end());
    events
}

fn line(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Text(piece) => format!("text {piece:?}"),
        StreamEvent::Thinking(piece) => format!("thinking {piece:?}"),
        StreamEvent::CallOpened { id, name } => format!("opened {id} {name}"),
        StreamEvent::CallArguments { id, piece } => format!("arguments {id} {piece}"),
        StreamEvent::Call(call) => format!("call {} {} {:?}", call.id, call.name, call.input),
        StreamEvent::Usage(usage) => format!("{usage:?}"),
        StreamEvent::Done(response) => {
            format!(
                "done {:?} {:?} id {:?} model {:?}",
                response.stop, response.usage, response.id, response.model
            )
        }
        StreamEvent::Failed(error) => format!(
            "failed {:?} {error:?} after {:?} retryable {}",
            error.kind,
            error.retry_after,
            error.is_retryable(),
            error = error.to_string(),
        ),
        other => format!("{other:?}"),
    }
}

/// How the message is sent to an API again.
fn sent_back(events: &[StreamEvent], dialect: Dialect) -> String {
    let Some(StreamEvent::Done(response)) = events.last() else { return "nothing\n".to_owned() };
    let mut history = History::new(dialect);
    history.push(Message::Assistant(response.message.clone()));
    let request = history.request(&RequestOptions { whole: true, ..RequestOptions::default() });
    serde_json::from_str::<serde_json::Value>(request.json()).expect("JSON");
    request.json().to_owned() + "\n"
}

#[test]
fn every_transcript_is_read_as_its_golden_file_says() {
    for (dialect, name, bytes) in transcripts() {
        let dialect = *dialect;
        let events = decode(dialect, bytes, bytes.len());
        let mut text: String = events.iter().map(|event| line(event) + "\n").collect();
        for to in [dialect].into_iter().chain(Dialect::ALL.into_iter().filter(|other| *other != dialect)) {
            text += &format!("-- back to {to}\n{}", sent_back(&events, to));
        }
        insta::assert_snapshot!(format!("stream_{dialect}_{name}"), text);
    }
}

#[test]
fn every_call_is_told_once_in_the_models_order() {
    for (dialect, name, bytes) in transcripts() {
        let dialect = *dialect;
        let events = decode(dialect, bytes, 1);
        let Some(StreamEvent::Done(response)) = events.last() else { continue };
        let told: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                StreamEvent::Call(call) => Some(call.clone()),
                _ => None,
            })
            .collect();
        let kept: Vec<_> = response.message.calls().cloned().collect();
        assert_eq!(told, kept, "{dialect} {name}: each call once, in order, as it is kept");
    }
}

#[test]
fn a_chat_call_is_complete_with_its_last_bracket() {
    let piece = |arguments: &str| {
        let function = serde_json::json!({ "name": "Read", "arguments": arguments });
        let call = serde_json::json!({ "index": 0, "id": "call_a", "function": function });
        format!("data: {}\n\n", serde_json::json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }))
    };
    let mut decoder = Decoder::new(Dialect::OpenAi);
    assert!(
        !decoder
            .feed(piece(r#"{"path": "a}""#).as_bytes())
            .iter()
            .any(|event| matches!(event, StreamEvent::Call(_)))
    );
    let events = decoder.feed(piece("}").as_bytes());
    assert!(
        matches!(events.last(), Some(StreamEvent::Call(call)) if call.input == r#"{"path": "a}"}"#.into()),
        "{events:?}"
    );
}

#[test]
fn nothing_is_told_after_the_end() {
    let mut decoder = Decoder::new(Dialect::OpenAi);
    let events = decoder
        .feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\ndata: {}\n\n");
    assert!(matches!(events.last(), Some(StreamEvent::Done(_))) && decoder.is_over());
    assert_eq!((decoder.feed(b"data: {\"choices\":[]}\n\n"), decoder.end()), (Vec::new(), Vec::new()));
}

#[test]
fn an_answer_that_is_too_large_is_refused_before_it_is_kept() {
    let mut decoder = Decoder::new(Dialect::OpenAi);
    let piece = vec![b'x'; 1 << 20];
    decoder.feed(b"data: ");
    let failed = (0..64).flat_map(|_| decoder.feed(&piece)).next();
    assert!(
        matches!(failed, Some(StreamEvent::Failed(error)) if error.to_string().contains("larger than 8 MB"))
    );
}

/// Pieces of open blocks are read without a value in between, unless a field stands there twice.
#[test]
fn a_piece_of_a_block_is_read_the_same_on_the_short_way_and_on_the_long_one() {
    let short = r#""type":"content_block_delta""#;
    let mut tried = 0;
    for (dialect, name, bytes) in transcripts().iter().filter(|(dialect, ..)| *dialect == Dialect::Anthropic)
    {
        let text = String::from_utf8_lossy(bytes).replace(r#""type": "content"#, r#""type":"content"#);
        let long = text.replace(short, &format!(r#""type":"x",{short}"#));
        tried += usize::from(long != text);
        let read = |text: &str| decode(*dialect, text.as_bytes(), usize::MAX);
        assert_eq!(read(&text), read(&long), "{name}");
    }
    assert!(tried > 3, "{tried} transcripts have pieces");
}
