//! `/actuator/clock`.

use super::*;

#[tokio::test]
async fn the_clock_can_be_pinned_moved_and_reset() {
    let server = Server::started().await;
    let pinned = server
        .json("POST", "/actuator/clock/pin", r#"{"epochMilli": 1000}"#)
        .await;
    assert_eq!(
        pinned,
        json!({ "epochMilli": 1000, "instant": "1970-01-01T00:00:01Z" })
    );
    let moved = server
        .json("POST", "/actuator/clock/add", r#"{"offsetMilli": 500}"#)
        .await;
    assert_eq!(moved["epochMilli"], 1500);
    assert_eq!(
        server.json("GET", "/actuator/clock", "").await["epochMilli"],
        1500
    );
    let partitions = server.json("GET", "/actuator/partitions", "").await;
    assert_eq!(partitions["1"]["clock"]["modificationType"], "Pin");
    let reset = server.json("DELETE", "/actuator/clock", "").await;
    assert!(reset["epochMilli"].as_i64() > Some(1_600_000_000_000));
    for (path, body) in [
        ("/actuator/clock/pin", "{}"),
        ("/actuator/clock/pin", r#"{"epochMilli": "soon"}"#),
        (
            "/actuator/clock/pin",
            r#"{"epochMilli": 9223372036854775807}"#,
        ),
        ("/actuator/clock/add", "nonsense"),
        ("/actuator/clock/turn", r#"{"epochMilli": 1}"#),
    ] {
        assert_eq!(
            server.send("POST", path, body).await.0,
            400,
            "{path} {body}"
        );
    }
}

#[tokio::test]
async fn an_uncontrolled_clock_is_only_read() {
    let mut server = Server::starting(false).await;
    server.start(1).await;
    assert_eq!(server.get("/actuator/clock").await.0, 200);
    for (method, path) in [
        ("POST", "/actuator/clock/pin"),
        ("POST", "/actuator/clock/add"),
        ("DELETE", "/actuator/clock"),
    ] {
        let (status, body) = server.send(method, path, r#"{"epochMilli":1}"#).await;
        assert_eq!(status, 403, "{method} {path}");
        assert!(body.contains("clock-controlled"), "{body}");
    }
}
