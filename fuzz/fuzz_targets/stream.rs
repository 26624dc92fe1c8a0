//! A model's answer while it comes, in every dialect, cut anywhere.

#![no_main]

use haft_model::{Decoder, Dialect, History, Message, RequestOptions, StreamEvent};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    for dialect in Dialect::ALL {
        let whole = read(dialect, bytes, bytes.len());
        assert_eq!(whole, read(dialect, bytes, 1), "how the bytes come does not matter");
        let is_end = |event: &&StreamEvent| matches!(event, StreamEvent::Done(_) | StreamEvent::Failed(_));
        assert_eq!(whole.iter().filter(is_end).count(), 1, "a stream ends once");
        if let Some(StreamEvent::Done(response)) = whole.last() {
            send_back(Message::Assistant(response.message.clone()));
        }
    }
});

fn read(dialect: Dialect, bytes: &[u8], step: usize) -> Vec<StreamEvent> {
    let mut decoder = Decoder::seeded(dialect, 7);
    let mut events: Vec<StreamEvent> =
        bytes.chunks(step.max(1)).flat_map(|piece| decoder.feed(piece)).collect();
    events.extend(decoder.end());
    events
}

/// Whatever was said can be sent to every API: the request is JSON.
fn send_back(message: Message) {
    for dialect in Dialect::ALL {
        let mut history = History::new(dialect);
        history.push(message.clone());
        let request = history.request(&RequestOptions::new("m"));
        assert!(serde_json::from_str::<Value>(request.json()).is_ok(), "{}", request.json());
    }
}
