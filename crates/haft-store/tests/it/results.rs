//! A result is restored as it was.

use haft_engine::{
    policy::{Said, Verdict},
    result::{FaultFacts, Meta, ToolResult, Truncation},
};
use haft_schema::Coercion;
use haft_store::{restore, store};
use haft_tool::{Action, Block, Change, FaultKind, Refusal};
use proptest::{collection::vec, option::of, prelude::*};
use serde_json::{Map, Value, json};

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,8}", any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        text().prop_map(Block::Text),
        (text(), vec(any::<u8>(), 0..64)).prop_map(|(media_type, data)| Block::Image { media_type, data }),
        (text(), vec(any::<u8>(), 0..64)).prop_map(|(media_type, data)| Block::Audio { media_type, data }),
        (text(), text(), vec(any::<u8>(), 0..64)).prop_map(|(media_type, name, data)| Block::Document {
            media_type,
            name,
            data
        }),
        (text(), text(), of(text())).prop_map(|(uri, name, media_type)| Block::Link {
            uri,
            name,
            media_type
        }),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let verdict = prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)];
    let words = (of(text()), of(text()), of(text()), of(text()), of(text()));
    (text(), text(), of(verdict), of(value()), words).prop_map(
        |(by, at, verdict, input, (reason, output, context, stop, notice))| Said {
            by,
            at,
            verdict,
            reason,
            input,
            output,
            context,
            stop,
            notice,
        },
    )
}

fn meta() -> impl Strategy<Value = Meta> {
    let cut = (any::<u64>(), any::<u64>(), of("/[a-z/]{0,20}"));
    let coerced =
        vec(text().prop_map(|path| Coercion { path, from: "string".into(), to: "integer".into() }), 0..3);
    let notes = vec((text(), value()), 0..4);
    (
        of(text()),
        any::<(u64, u64, u32)>(),
        coerced,
        of(cut),
        text(),
        (vec(said(), 0..3), vec(text(), 0..3), notes),
    )
        .prop_map(
            |(tool, (duration_us, queued_us, attempts), coerced, cut, source, (hooks, loaded, notes))| Meta {
                tool,
                duration_us,
                queued_us,
                attempts,
                coerced,
                truncated: cut.map(|(bytes, shown, path)| Truncation {
                    bytes,
                    shown,
                    handle: path.clone().map(|path| format!("result:{path}")),
                    path: path.map(Into::into),
                }),
                source: source.into(),
                hooks,
                loaded,
                notes: notes.into_iter().collect::<Map<String, Value>>(),
            },
        )
}

fn result() -> impl Strategy<Value = ToolResult> {
    let kinds = prop_oneof![Just(FaultKind::Failed), Just(FaultKind::Denied), Just(FaultKind::Interrupted)];
    let refusals = proptest::sample::select(&Refusal::ALL[..]);
    let fault = (kinds, of(refusals)).prop_map(|(kind, refusal)| FaultFacts { kind, refusal });
    let action = (text(), value(), text()).prop_map(|(tool, input, why)| Action { tool, input, why });
    let head = (text(), text(), vec(block(), 0..4), of(fault), of(value()), of(text()));
    (head, vec(action, 0..3), vec(text(), 0..3), meta()).prop_map(
        |((call, tool, blocks, fault, data, observation), actions, messages, meta)| ToolResult {
            call: call.into(),
            tool,
            blocks,
            fault,
            data,
            observation,
            actions,
            messages,
            view: None,
            meta,
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        "/[a-z/]{0,20}".prop_map(|path| Change::Cwd(path.into())),
        vec(text(), 0..3).prop_map(Change::Load),
        (text(), value()).prop_map(|(key, value)| Change::State(key, value)),
    ]
}

proptest! {
    #[test]
    fn what_is_stored_is_restored(result in result(), changes in vec(change(), 0..4)) {
        let back = restore(&store(&result, &changes)).expect("what was stored");
        prop_assert_eq!(back.result, result);
        prop_assert_eq!(back.changes, changes);
    }

    #[test]
    fn what_was_not_stored_is_not_restored(text in any::<String>()) {
        prop_assert_eq!(restore(&text), None);
    }
}

#[test]
fn notes_of_a_tool_do_not_meet_the_engines_own_fields() {
    let mut meta = Meta { duration_us: 7, ..Meta::default() };
    meta.notes.insert("duration_us".to_owned(), json!("long"));
    let result = ToolResult {
        call: "1".into(),
        tool: "T".to_owned(),
        blocks: Vec::new(),
        fault: None,
        data: Some(Value::Null),
        observation: None,
        actions: Vec::new(),
        messages: Vec::new(),
        view: None,
        meta,
    };
    assert_eq!(restore(&store(&result, &[])).unwrap().result, result);
}
