//! What holds for any bytes, cut anywhere.

use std::time::{Duration, Instant};

use haft_model::{
    Decoder, Dialect, Said, Stop, StreamEvent, Usage,
    scripted::{Turn, Wire},
};
use proptest::prelude::*;
use serde_json::json;

use crate::streams::{decode, transcripts};

/// The events of bytes that are cut at these places.
fn decode_cut(dialect: Dialect, bytes: &[u8], cuts: &[prop::sample::Index]) -> Vec<StreamEvent> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut decoder = Decoder::seeded(dialect, 7);
    let (mut events, mut from) = (Vec::new(), 0);
    for place in places.into_iter().chain([bytes.len()]) {
        events.extend(decoder.feed(&bytes[from..place]));
        from = place;
    }
    events.extend(decoder.end());
    events
}

fn ends(events: &[StreamEvent]) -> usize {
    events.iter().filter(|event| matches!(event, StreamEvent::Done(_) | StreamEvent::Failed(_))).count()
}

#[test]
fn every_transcript_is_read_the_same_byte_by_byte() {
    for (dialect, name, bytes) in transcripts() {
        let dialect = *dialect;
        let whole = decode(dialect, bytes, bytes.len());
        for step in [1, 2, 3, 7, 64] {
            assert_eq!(decode(dialect, bytes, step), whole, "{dialect} {name} in steps of {step}");
        }
        let returns = String::from_utf8_lossy(bytes).replace('\n', "\r\n");
        assert_eq!(decode(dialect, returns.as_bytes(), 1), whole, "{dialect} {name} with other line ends");
    }
}

/// What a model may say, as the script of a turn.
fn any_turn() -> impl Strategy<Value = Turn> {
    #[derive(Debug, Clone)]
    enum One {
        Text(String),
        Thinking(String),
        Call(String, String),
    }
    let words = || "[ a-zé\"\\\\{}\n\u{1f600}]{1,40}";
    let one = prop_oneof![
        words().prop_map(One::Text),
        words().prop_map(One::Thinking),
        ("[A-Z][a-z]{1,8}", words()).prop_map(|(name, text)| One::Call(name, text)),
    ];
    (prop::collection::vec(one, 1..6), 1_usize..20).prop_map(|(all, piece)| {
        all.into_iter().fold(Turn::new().pieces(piece), |turn, one| match one {
            One::Text(text) => turn.text(text),
            One::Thinking(text) => turn.thinking(text),
            One::Call(name, text) => turn.call(name, json!({ "text": text, "n": [1, {}] })),
        })
    })
}

fn bytes(wire: Vec<Wire>) -> Vec<u8> {
    let texts = wire.into_iter().filter_map(|wire| match wire {
        Wire::Send(text) => Some(text),
        _ => None,
    });
    texts.collect::<String>().into_bytes()
}

/// What was said, without how it was cut into parts.
fn said(events: &[StreamEvent]) -> (String, String, Vec<String>, Option<Stop>, Option<Usage>) {
    let Some(StreamEvent::Done(response)) = events.last() else { return Default::default() };
    let thoughts = response.message.parts.iter().filter_map(|part| match &part.said {
        Said::Thinking(text) => Some(text.as_str()),
        _ => None,
    });
    let calls = response.message.calls().map(|call| format!("{} {} {:?}", call.id, call.name, call.input));
    (
        response.message.text(),
        thoughts.collect(),
        calls.collect(),
        Some(response.stop.clone()),
        Some(response.usage),
    )
}

proptest! {
    // Each case is read in four dialects and in several ways; the fuzz target `stream` goes on from there.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_answer_is_read_the_same_however_it_is_cut(turn in any_turn(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        for dialect in Dialect::ALL {
            let bytes = bytes(turn.wire(dialect));
            prop_assert_eq!(decode_cut(dialect, &bytes, &cuts), decode(dialect, &bytes, bytes.len()));
        }
    }

    #[test]
    fn an_answer_says_the_same_in_every_api_streamed_or_not(turn in any_turn()) {
        let streamed = |dialect| said(&decode(dialect, &bytes(turn.wire(dialect)), 5));
        let whole = |dialect| said(&decode(dialect, &bytes(turn.whole(dialect)), 5));
        let expected = streamed(Dialect::Anthropic);
        prop_assert!(expected.3.is_some());
        for dialect in Dialect::ALL {
            prop_assert_eq!(&streamed(dialect), &expected, "{} streamed", dialect);
            prop_assert_eq!(&whole(dialect), &expected, "{} whole", dialect);
        }
    }

    #[test]
    fn a_broken_transcript_ends_once_and_the_same_however_it_is_cut(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_usize..30), 1..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let (_, _, bytes) = which.get(transcripts());
        let mut bytes = bytes.clone();
        for (place, byte, gone) in changes {
            let place = place.index(bytes.len());
            bytes.splice(place..bytes.len().min(place + gone), [byte]);
        }
        for dialect in Dialect::ALL {
            let events = decode(dialect, &bytes, bytes.len());
            prop_assert_eq!(ends(&events), 1);
            prop_assert_eq!(decode_cut(dialect, &bytes, &cuts), events);
        }
    }

    #[test]
    fn any_bytes_end_once(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for dialect in Dialect::ALL {
            prop_assert_eq!(ends(&decode(dialect, &bytes, 7)), 1);
        }
    }
}

#[test]
fn a_long_call_in_tiny_pieces_takes_time_in_proportion() {
    let time = |characters: usize, dialect: Dialect| {
        let turn = Turn::new().pieces(1).call("Write", json!({ "text": "x".repeat(characters) }));
        let bytes = bytes(turn.wire(dialect));
        let once = || {
            let start = Instant::now();
            assert_eq!(ends(&decode(dialect, &bytes, 1_500)), 1);
            start.elapsed()
        };
        (0..3).map(|_| once()).min().unwrap_or(Duration::MAX)
    };
    for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Responses] {
        let (short, long) = (time(1_000, dialect), time(16_000, dialect));
        println!("{dialect}: {short:?} for 1,000 pieces, {long:?} for 16,000");
        // Sixteen times as much; work that grows with the square would take 256 times as long.
        assert!(long < short * 64, "{dialect}: {short:?} for 1,000 pieces, {long:?} for 16,000");
    }
}
