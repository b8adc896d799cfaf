//! An error reaches its client, however much of the input its text repeats.

use pb::gateway_client::GatewayClient;
use skep_proto::gateway_protocol as pb;
use skep_protocol::findings::{Finding, Invalid, Rule};
use skep_protocol::{Failure, Rejection};
use tonic::Code;

use crate::fake::{KEY, start};
use crate::http::post;

/// A refused deployment with this many findings, in texts that grow when they are encoded.
fn findings(n: usize) -> Failure {
    let finding = |i: usize| Finding {
        rule: Rule::ValueMissing,
        process_id: Some("m".into()),
        element_id: Some(format!("Prüfung_überfällig{i}")),
        element_type: Some("userTask".into()),
        message: "The element 'userTask' is not supported yet".into(),
        line: u32::try_from(i).ok(),
    };
    let invalid = Invalid {
        resource_name: "m.bpmn".into(),
        findings: (0..n).map(finding).collect(),
        further: 0,
    };
    Rejection::of_deployment("CREATE", vec![invalid]).into()
}

#[tokio::test]
async fn many_findings_fit_into_a_grpc_status() {
    let gateway = start().await;
    let mut client = GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    let resource = pb::Resource {
        name: "m.bpmn".into(),
        content: b"<x/>".to_vec().into(),
    };
    let request = pb::DeployResourceRequest {
        resources: vec![resource],
        tenant_id: String::new(),
    };
    for n in [1, 40, 100] {
        gateway.broker.answer(Err(findings(n)));
        let status = client
            .deploy_resource(request.clone())
            .await
            .expect_err("is refused");
        assert_eq!(status.code(), Code::InvalidArgument, "{n}");
        let header = status.clone().into_http::<()>().headers()["grpc-message"].len();
        assert!(header <= 6 << 10, "{header}");
        let shown = status.message().matches("- ERROR[VALUE_MISSING]: ").count();
        match n {
            1 => assert_eq!(status.message(), findings(1).to_string()),
            n => {
                let end = format!("\n- and {} further findings", n - shown);
                assert!(status.message().ends_with(&end), "{}", status.message());
            }
        }
    }
}

#[tokio::test]
async fn repeated_input_is_cut() {
    let gateway = start().await;
    let long = || Failure::NotFound(format!("No process '{}' was found.", "ü".repeat(1_000_000)));
    gateway.broker.answer(Err(long()));
    let answer = post(gateway.rest, &format!("/v2/jobs/{KEY}/completion"), "{}").await;
    let (status, _, detail) = answer.problem();
    assert_eq!(status, 404);
    assert!(detail.len() <= 4096, "{}", detail.len());
    assert!(detail.starts_with("No process 'ü") && detail.ends_with("ü' was found."));
    let body = format!(
        r#"{{"name": "a", "tenantId": "{}"}}"#,
        "x".repeat(1_000_000)
    );
    let answer = post(gateway.rest, "/v2/messages/publication", &body).await;
    assert_eq!(answer.problem().0, 400);
    assert!(answer.text.len() < 5000, "{}", answer.text.len());
}

#[tokio::test]
async fn a_problem_body_has_room_for_a_long_deployment_rejection() {
    let gateway = start().await;
    let failure = findings(90);
    assert!((10_000..13_000).contains(&failure.to_string().len()));
    gateway.broker.answer(Err(failure.clone()));
    let answer = post(gateway.rest, &format!("/v2/jobs/{KEY}/completion"), "{}").await;
    assert_eq!(answer.problem().2, failure.to_string());
}
