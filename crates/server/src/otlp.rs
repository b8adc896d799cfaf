//! Export of spans over OTLP/HTTP in its JSON form: one span per command, with the time of each stage as attributes.
//!
//! Written by hand: the format is a page of JSON, and the crates for it cost more build time than the rest of the server's edge. Without an
//! endpoint, none of this runs.

mod send;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use skep_exporting::without_password;
use skep_gateway::metrics::{Protocol, STAGES};
use skep_gateway::{RequestSpan, SpanListener};
use tokio::sync::mpsc;

use self::send::Collector;
use crate::config::TraceSettings;

/// Maximum number of spans that wait for the collector; more are dropped and counted.
const QUEUE: usize = 8192;
/// Maximum number of spans in one request to the collector.
const BATCH: usize = 512;
const FLUSH: Duration = Duration::from_secs(1);

/// Samples spans and hands them to the task that sends them.
#[derive(Debug)]
pub struct Exporter {
    queue: mpsc::Sender<RequestSpan>,
    /// A span is recorded if a random number is below this.
    threshold: u64,
    dropped: Arc<AtomicU64>,
}

impl Exporter {
    /// Starts the export, if configured. Must be called within the runtime.
    ///
    /// # Errors
    /// The endpoint is not a usable address.
    pub fn start(settings: &TraceSettings) -> Result<Option<Arc<Exporter>>, String> {
        let Some(endpoint) = settings.endpoint.as_deref() else {
            return Ok(None);
        };
        let collector = Collector::new(endpoint)?;
        let (queue, spans) = mpsc::channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        tokio::spawn(export(collector, spans, dropped.clone()));
        let endpoint = without_password(endpoint);
        tracing::info!(endpoint, ratio = settings.ratio, "spans are exported");
        Ok(Some(Arc::new(Exporter {
            queue,
            threshold: (settings.ratio * u64::MAX as f64) as u64,
            dropped,
        })))
    }
}

impl SpanListener for Exporter {
    fn answered(&self, span: &RequestSpan) {
        // The originator of a trace decides whether it is recorded.
        let wanted = match span.parent {
            Some(parent) => parent.sampled,
            None => rand::random::<u64>() <= self.threshold,
        };
        if wanted && self.queue.try_send(*span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn export(
    mut collector: Collector,
    mut spans: mpsc::Receiver<RequestSpan>,
    dropped: Arc<AtomicU64>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut failing = false;
    while spans.recv_many(&mut batch, BATCH).await > 0 {
        let until = tokio::time::Instant::now() + FLUSH;
        while batch.len() < BATCH {
            match tokio::time::timeout_at(until, spans.recv()).await {
                Ok(Some(span)) => batch.push(span),
                _ => break,
            }
        }
        let body = document(&batch).to_string();
        let count = batch.len();
        batch.clear();
        match collector.send(body).await {
            Ok(()) => {
                let lost = dropped.swap(0, Ordering::Relaxed);
                if std::mem::take(&mut failing) || lost > 0 {
                    tracing::info!(lost, "the collector accepts spans again");
                }
            }
            Err(reason) => {
                dropped.fetch_add(count as u64, Ordering::Relaxed);
                // Log once, not every second.
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(code = "SPANS_DROPPED", %reason, "the collector does not accept spans; they are dropped");
                }
            }
        }
    }
}

/// An `ExportTraceServiceRequest`.
fn document(spans: &[RequestSpan]) -> Value {
    let now = (Instant::now(), SystemTime::now());
    let spans: Vec<Value> = spans.iter().map(|s| span(s, now)).collect();
    json!({
        "resourceSpans": [{
            "resource": { "attributes": [
                text("service.name", "skep"),
                text("service.version", env!("CARGO_PKG_VERSION")),
            ]},
            "scopeSpans": [{ "scope": { "name": "skep_gateway" }, "spans": spans }],
        }],
    })
}

fn span(span: &RequestSpan, (instant, time): (Instant, SystemTime)) -> Value {
    let ago = instant.saturating_duration_since(span.started);
    let started = time
        .checked_sub(ago)
        .and_then(|started| started.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    let ended = started.saturating_add(span.duration);
    let protocol = match span.protocol {
        Protocol::rest => "rest",
        Protocol::grpc => "grpc",
    };
    let mut attributes = vec![text("skep.protocol", protocol)];
    let stages = STAGES.iter().zip(span.stages);
    attributes.extend(stages.filter(|(_, ns)| *ns > 0).map(|(stage, ns)| {
        // 64-bit numbers are strings in this format.
        json!({ "key": format!("skep.stage.{stage}_ns"), "value": { "intValue": ns.to_string() } })
    }));
    let status = match span.failure {
        Some(failure) => {
            attributes.push(text("error.type", failure));
            json!({ "code": 2, "message": failure })
        }
        None => json!({ "code": 0 }),
    };
    let trace = span
        .parent
        .map_or_else(|| rand::random::<u128>().max(1), |p| p.trace_id.get());
    // An event at the end of each stage: side by side they show where the time went.
    let mut at = started;
    let ends = STAGES.iter().zip(span.stages).filter_map(|(stage, ns)| {
        at = at.saturating_add(Duration::from_nanos(ns));
        (ns > 0).then(|| json!({ "timeUnixNano": at.as_nanos().to_string(), "name": stage }))
    });
    json!({
        "traceId": format!("{trace:032x}"),
        "spanId": format!("{:016x}", rand::random::<u64>().max(1)),
        "parentSpanId": span.parent.map_or_else(String::new, |p| format!("{:016x}", p.span_id)),
        "events": ends.collect::<Vec<_>>(),
        "name": span.request_type.to_string(),
        // `SPAN_KIND_SERVER`.
        "kind": 2,
        "startTimeUnixNano": started.as_nanos().to_string(),
        "endTimeUnixNano": ended.as_nanos().to_string(),
        "attributes": attributes,
        "status": status,
    })
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_gateway::TraceParent;
    use skep_protocol::ValueType;
    use skep_protocol::command::RecordName;
    use skep_protocol::intent::JobIntent;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn example(failure: Option<&'static str>) -> RequestSpan {
        RequestSpan {
            protocol: Protocol::grpc,
            request_type: RecordName(ValueType::Job, JobIntent::Complete as u8),
            started: Instant::now(),
            duration: Duration::from_micros(700),
            stages: [0, 0, 1, 2, 3, 4, 5, 600, 7, 0],
            failure,
            parent: None,
        }
    }

    fn parent(sampled: bool) -> Option<TraceParent> {
        Some(TraceParent {
            trace_id: 0xabc.try_into().unwrap(),
            span_id: 0xdef.try_into().unwrap(),
            sampled,
        })
    }

    #[test]
    fn a_span_with_a_parent_is_part_of_its_trace() {
        let mut child = example(None);
        child.parent = parent(true);
        let document = document(&[child, example(None)]);
        let spans = &document["resourceSpans"][0]["scopeSpans"][0]["spans"];
        assert_eq!(spans[0]["traceId"], format!("{:032x}", 0xabc));
        assert_eq!(spans[0]["parentSpanId"], format!("{:016x}", 0xdef));
        assert_ne!(spans[1]["traceId"], spans[0]["traceId"]);
        assert_eq!(spans[1]["parentSpanId"], "");
    }

    #[test]
    fn each_stage_ends_with_an_event() {
        let document = document(&[example(None)]);
        let span = &document["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        let nanos = |value: &Value| -> u64 { value.as_str().unwrap().parse().unwrap() };
        let started = nanos(&span["startTimeUnixNano"]);
        let events: Vec<(&str, u64)> = span["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| {
                (
                    e["name"].as_str().unwrap(),
                    nanos(&e["timeUnixNano"]) - started,
                )
            })
            .collect();
        let expected = [
            ("decode", 1),
            ("route", 3),
            ("inbox_wait", 6),
            ("evaluation", 10),
            ("append", 15),
            ("fsync", 615),
            ("commit", 622),
        ];
        assert_eq!(events, expected);
    }

    #[test]
    fn a_span_has_its_stages_and_its_failure() {
        let document = document(&[example(None), example(Some("TIMEOUT"))]);
        let spans = &document["resourceSpans"][0]["scopeSpans"][0]["spans"];
        assert_eq!(spans[0]["name"], "JOB#COMPLETE");
        assert_eq!(spans[0]["traceId"].as_str().map(str::len), Some(32));
        let nanos = |field: &str| -> u64 { spans[0][field].as_str().unwrap().parse().unwrap() };
        assert_eq!(
            nanos("endTimeUnixNano") - nanos("startTimeUnixNano"),
            700_000
        );
        let attributes = spans[0]["attributes"].to_string();
        assert!(
            attributes.contains(r#""skep.stage.fsync_ns","value":{"intValue":"600"}"#),
            "{attributes}"
        );
        assert!(!attributes.contains("gateway_queue"), "{attributes}");
        assert_eq!(spans[0]["status"]["code"], 0);
        assert_eq!(spans[1]["status"]["message"], "TIMEOUT");
    }

    #[tokio::test]
    async fn spans_arrive_at_the_collector() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = TraceSettings {
            endpoint: Some(format!("http://{}", listener.local_addr().unwrap())),
            ratio: 1.0,
        };
        let exporter = Exporter::start(&settings).unwrap().unwrap();
        exporter.answered(&example(None));
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = String::new();
        while !received.contains("]}]}") {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "{received}");
            received.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        stream.write_all(answer).await.unwrap();
        assert!(
            received.starts_with("POST /v1/traces HTTP/1.1\r\n"),
            "{received}"
        );
        assert!(received.contains("JOB#COMPLETE"));
    }

    #[tokio::test]
    async fn only_the_share_is_sampled_and_the_queue_is_bounded() {
        let (queue, mut spans) = mpsc::channel(10);
        let exporter = |ratio: f64| Exporter {
            queue: queue.clone(),
            threshold: (ratio * u64::MAX as f64) as u64,
            dropped: Arc::default(),
        };
        exporter(0.0).answered(&example(None));
        assert!(spans.try_recv().is_err());
        let mut child = example(None);
        child.parent = parent(true);
        exporter(0.0).answered(&child);
        assert!(spans.try_recv().is_ok(), "the caller records this trace");
        child.parent = parent(false);
        exporter(1.0).answered(&child);
        assert!(spans.try_recv().is_err(), "and not this one");
        let all = exporter(1.0);
        for _ in 0..25 {
            all.answered(&example(None));
        }
        assert_eq!(all.dropped.load(Ordering::Relaxed), 15);
    }
}
