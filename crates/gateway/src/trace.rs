//! The hook for spans: called for each command that the broker answered. Without a listener it does nothing.

use std::fmt::Debug;
use std::num::{NonZeroU64, NonZeroU128};
use std::time::{Duration, Instant};

use http::HeaderMap;
use skep_protocol::command::RecordName;

use crate::metrics::{Protocol, STAGES};

/// The caller's span, as the header `traceparent` names it (W3C Trace Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: NonZeroU128,
    pub span_id: NonZeroU64,
    /// Whether the caller records this trace.
    pub sampled: bool,
}

impl TraceParent {
    /// The parent that the headers name; `None` if there is none, or one that the standard requires to be ignored.
    pub fn of(headers: &HeaderMap) -> Option<TraceParent> {
        let mut values = headers.get_all("traceparent").iter();
        match (values.next(), values.next()) {
            (Some(value), None) => TraceParent::parse(value.to_str().ok()?),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<TraceParent> {
        let lower = |part: &str| !part.bytes().any(|b| b.is_ascii_uppercase() || b == b'+');
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let lengths = [version.len(), trace.len(), span.len(), flags.len()];
        let known = match version {
            "ff" => false,
            "00" => parts.next().is_none(),
            // Later versions may append more.
            _ => true,
        };
        if !known || lengths != [2, 32, 16, 2] || !lower(text) {
            return None;
        }
        u8::from_str_radix(version, 16).ok()?;
        Some(TraceParent {
            trace_id: NonZeroU128::new(u128::from_str_radix(trace, 16).ok()?)?,
            span_id: NonZeroU64::new(u64::from_str_radix(span, 16).ok()?)?,
            sampled: u8::from_str_radix(flags, 16).ok()? & 1 == 1,
        })
    }
}

/// A command and where its time went.
#[derive(Clone, Copy, Debug)]
pub struct RequestSpan {
    pub protocol: Protocol,
    /// For instance `JOB#COMPLETE`.
    pub request_type: RecordName,
    /// When its head was read.
    pub started: Instant,
    pub duration: Duration,
    /// Nanoseconds by the stages of [`STAGES`]; writing the answer is not part of it.
    pub stages: [u64; STAGES.len()],
    /// The error of a refused or failed request.
    pub failure: Option<&'static str>,
    /// The parent of this span.
    pub parent: Option<TraceParent>,
}

/// Takes spans. Called on the threads of the gateways: it must not block.
pub trait SpanListener: Debug + Send + Sync {
    fn answered(&self, span: &RequestSpan);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_parent_is_read_and_its_flag_says_whether_it_is_recorded() {
        for (text, sampled) in [
            (format!("00-{TRACE}-{SPAN}-01"), true),
            (format!("00-{TRACE}-{SPAN}-00"), false),
            (format!("cc-{TRACE}-{SPAN}-03-more"), true),
        ] {
            let parent = TraceParent::parse(&text).expect(&text);
            assert_eq!(format!("{:032x}", parent.trace_id), TRACE);
            assert_eq!(format!("{:016x}", parent.span_id), SPAN);
            assert_eq!(parent.sampled, sampled, "{text}");
        }
    }

    #[test]
    fn invalid_trace_parents_are_ignored() {
        for text in [
            String::new(),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", TRACE.replace('f', "g")),
            format!("0x-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-+1"),
        ] {
            assert_eq!(TraceParent::parse(&text), None, "{text}");
        }
        let mut headers = HeaderMap::new();
        let value: http::HeaderValue = format!("00-{TRACE}-{SPAN}-01").parse().unwrap();
        headers.append("traceparent", value.clone());
        assert!(TraceParent::of(&headers).is_some());
        headers.append("traceparent", value);
        assert_eq!(TraceParent::of(&headers), None, "two parents are none");
    }
}
