//! Variables that no expression could read are refused with the position of the error.

use pb::gateway_client::GatewayClient;
use skep_proto::gateway_protocol as pb;
use tonic::Code;

use crate::fake::{KEY, start};
use crate::http::{JSON, send};

const CASES: [(&str, &str); 3] = [
    (r#"{"a":1,"b":{"c":[1,1e7000]}}"#, "'b.c[1]' is a number"),
    (r#"{"b":["x\ud800"]}"#, "'b[0]' holds half of a surrogate"),
    (
        "DEEP",
        "'a[0][0][0][0][0][0]…' is nested deeper than the 200",
    ),
];

fn text(case: &str) -> String {
    match case {
        "DEEP" => format!(r#"{{"a":{}{}}}"#, "[".repeat(201), "]".repeat(201)),
        text => text.to_string(),
    }
}

#[tokio::test]
async fn over_rest() {
    let gateway = start().await;
    let job = format!("/v2/jobs/{KEY}");
    let element = format!("/v2/element-instances/{KEY}/variables");
    for (method, path, before) in [
        (
            "POST",
            "/v2/process-instances",
            r#""processDefinitionId":"o","#,
        ),
        ("POST", "/v2/messages/publication", r#""name":"n","#),
        ("POST", "/v2/messages/correlation", r#""name":"n","#),
        ("POST", "/v2/expression/evaluation", r#""expression":"=1","#),
        ("POST", &format!("{job}/completion"), ""),
        ("POST", &format!("{job}/failure"), ""),
        ("POST", &format!("{job}/error"), r#""errorCode":"e","#),
        ("PUT", &element, ""),
    ] {
        for (case, said) in CASES {
            let body = format!(r#"{{{before}"variables":{}}}"#, text(case));
            let answer = send(gateway.rest, method, path, Some(JSON), body).await;
            let (status, title, detail) = answer.problem();
            assert_eq!(
                (status, title.as_str()),
                (400, "INVALID_ARGUMENT"),
                "{path}"
            );
            assert!(detail.contains(said), "{path}: {detail}");
            assert!(!detail.contains("line 1"), "{detail}");
        }
    }
    assert!(gateway.broker.requests.lock().is_empty());
}

#[tokio::test]
async fn over_grpc() {
    let gateway = start().await;
    let mut client = GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    let wrong = [
        (
            "[1]",
            "must be the text of a JSON object, but it is an array.",
        ),
        ("{", "but it is not valid JSON: EOF"),
    ];
    for (case, said) in CASES.into_iter().chain(wrong) {
        let request = pb::SetVariablesRequest {
            element_instance_key: KEY.0,
            variables: text(case),
            ..Default::default()
        };
        let status = client.set_variables(request).await.expect_err("refused");
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert!(status.message().contains(said), "{status:?}");
    }
}
