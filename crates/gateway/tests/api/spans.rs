//! Tracing spans of requests.

use std::sync::Arc;

use parking_lot::Mutex;
use skep_gateway::{RequestSpan, SpanListener};
use skep_proto::gateway_protocol as pb;

use crate::fake::{KEY, start_with};
use crate::http::{http2, request};

#[derive(Debug, Default)]
struct Recorded(Mutex<Vec<RequestSpan>>);

impl SpanListener for Recorded {
    fn answered(&self, span: &RequestSpan) {
        self.0.lock().push(*span);
    }
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn a_request_with_a_traceparent_is_part_of_the_callers_trace_over_both_protocols() {
    let recorded = Arc::new(Recorded::default());
    let listener = Arc::clone(&recorded) as Arc<dyn SpanListener>;
    let gateway = start_with(|config| config.spans = Some(listener)).await;

    let path = format!("/v2/jobs/{KEY}/completion");
    let json = Some("application/json");
    for parent in [Some(PARENT), None] {
        let mut request = request(gateway.rest, "POST", &path, json, "{}".into());
        if let Some(parent) = parent {
            request
                .headers_mut()
                .insert("traceparent", parent.parse().unwrap());
        }
        let answer = http2(gateway.rest).await.send_request(request).await;
        assert_eq!(answer.unwrap().status(), 204);
    }
    let mut client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .unwrap();
    let mut request = tonic::Request::new(pb::CompleteJobRequest {
        job_key: KEY.0,
        ..Default::default()
    });
    request
        .metadata_mut()
        .insert("traceparent", PARENT.parse().unwrap());
    client.complete_job(request).await.unwrap();

    let spans = recorded.0.lock();
    let traces: Vec<Option<String>> = spans
        .iter()
        .map(|span| {
            span.parent
                .map(|parent| format!("{:032x}", parent.trace_id))
        })
        .collect();
    let trace = Some("4bf92f3577b34da6a3ce929d0e0e4736".to_string());
    assert_eq!(traces, [trace.clone(), None, trace]);
    let mut names = spans.iter().map(|span| span.request_type.to_string());
    assert!(names.all(|name| name == "JOB#COMPLETE"));
}
