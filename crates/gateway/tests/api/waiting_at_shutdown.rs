//! Callers waiting for the end of a process instance are answered at once when the server stops.

use std::time::Duration;

use pb::gateway_client::GatewayClient;
use skep_proto::gateway_protocol as pb;
use tonic::Code;

use crate::fake::start_with;
use crate::http::post;

#[tokio::test]
async fn a_waiting_creation_is_answered_by_the_stop() {
    // Without the answer, the test would wait for ten minutes.
    let mut gateway = start_with(|config| config.shutdown_grace = Duration::from_secs(600)).await;
    gateway.broker.hold();
    let (rest, grpc) = (gateway.rest, gateway.grpc);
    let over_rest = tokio::spawn(async move {
        let body =
            r#"{"processDefinitionId": "o", "awaitCompletion": true, "requestTimeout": 3600000}"#;
        post(rest, "/v2/process-instances", body).await
    });
    let over_grpc = tokio::spawn(async move {
        let mut client = GatewayClient::connect(format!("http://{grpc}"))
            .await
            .expect("connects");
        let request = pb::CreateProcessInstanceWithResultRequest {
            request: Some(pb::CreateProcessInstanceRequest {
                bpmn_process_id: "o".into(),
                version: -1,
                ..Default::default()
            }),
            request_timeout: 3_600_000,
            ..Default::default()
        };
        client.create_process_instance_with_result(request).await
    });
    gateway.broker.until(|b| b.held() == 2).await;
    gateway.stop();
    let (status, title, detail) = over_rest.await.expect("no panic").problem();
    assert_eq!((status, title.as_str()), (503, "UNAVAILABLE"));
    assert!(detail.contains("may have begun"), "{detail}");
    let refused = over_grpc.await.expect("no panic").expect_err("is answered");
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    gateway.stopped().await;
}
