//! Which trace does it belong to?
//!
//! `traceparent` and `tracestate` of W3C Trace Context, as texts: they come in variables and in `_meta` of requests, and
//! go out the same way. What is not one is none: a stranger's text never fails a call.

use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};

/// The span of somebody else that ours is a part of.
#[derive(Debug, Clone, PartialEq)]
pub struct Parent(SpanContext);

/// The longest `tracestate` that is carried on. The specification asks for 512 at least.
const LONGEST_STATE: usize = 2048;

impl Parent {
    /// Reads a `traceparent`, and a `tracestate` beside it. `None` if the first is none; a bad second is left out.
    pub fn read(traceparent: &str, tracestate: Option<&str>) -> Option<Parent> {
        let (trace, span, flags) = fields(traceparent.trim())?;
        let state = tracestate.filter(|state| state.len() <= LONGEST_STATE);
        let state = state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
        let context = SpanContext::new(trace, span, flags, true, state);
        context.is_valid().then_some(Parent(context))
    }

    pub(crate) fn context(self) -> Context {
        Context::new().with_remote_span_context(self.0)
    }
}

fn fields(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let lengths = [version.len(), trace.len(), span.len(), flags.len()];
    let is_plain = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if lengths != [2, 32, 16, 2] || ![version, trace, span, flags].into_iter().all(is_plain) {
        return None;
    }
    // Version 255 is none; later ones than ours may have more parts, and begin as ours does.
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()? & TraceFlags::SAMPLED.to_u8());
    Some((TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?, flags))
}

/// The `traceparent` of a span of ours, if it is one that somebody keeps or passes on.
pub(crate) fn written(span: &SpanContext) -> Option<String> {
    let flags = span.trace_flags().to_u8();
    span.is_valid().then(|| format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_and_written_alike() {
        for text in [GOOD, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"] {
            let parent = Parent::read(text, None).expect("a parent");
            assert_eq!(written(&parent.0).as_deref(), Some(text));
        }
        let later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more";
        assert_eq!(Parent::read(later, None), Parent::read(GOOD, None));
    }

    #[test]
    fn what_is_no_traceparent_is_none() {
        for text in [
            "",
            "00-1",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
        ] {
            assert_eq!(Parent::read(text, None), None, "{text}");
        }
    }

    #[test]
    fn a_state_is_carried_on_unless_it_is_none() {
        let state = |text: &str| Parent::read(GOOD, Some(text)).expect("a parent").0.trace_state().header();
        assert_eq!(state("rojo=1,congo=2"), "rojo=1,congo=2");
        assert_eq!(state("what is this"), "");
        assert_eq!(state(&"a=b,".repeat(1000)), "");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in ".{0,80}", state in ".{0,80}") {
            let _ = Parent::read(&text, Some(&state));
        }
    }
}
