//! Tests against a bucket of a real server, and without any server.

use bytes::Bytes;
use skep_testbed::S3Server;

use super::*;
use crate::Given;
use crate::content::tests::all;

const BUCKET: &str = "documents";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn config(server: &S3Server) -> S3 {
    S3 {
        bucket: BUCKET.to_string(),
        path: "some/where".to_string(),
        endpoint: Some(server.endpoint()),
        region: Some(S3Server::REGION.to_string()),
        access_key: Some(S3Server::ACCESS_KEY.to_string()),
        secret_key: Some(S3Server::SECRET_KEY.to_string()),
    }
}

/// A bucket of each server.
fn started() -> Vec<(S3Server, S3Store)> {
    let servers = S3Server::start_each().into_iter();
    let with_bucket = servers.map(|server| {
        server.make_bucket(BUCKET).unwrap();
        let store = S3Store::new(&config(&server)).unwrap();
        (server, store)
    });
    with_bucket.collect()
}

fn document(id: &str, given: Given, content: impl Into<Bytes>) -> Document {
    let content = content.into();
    Document {
        id: id.to_string(),
        metadata: Metadata::new(id, given, &content, at(0)).unwrap(),
        content,
    }
}

fn expiring(expires_at: Timestamp) -> Given {
    Given {
        expires_at: Some(expires_at),
        ..Given::default()
    }
}

/// This server refuses before it has read the body, and closes the connection: if the refusal is lost that way, the error tells clients to
/// retry.
async fn create_again(store: &S3Store, document: &Document) -> Result<(), DocumentError> {
    let mut answer = store.create(document.clone(), at(1)).await;
    for _ in 0..20 {
        if !matches!(answer, Err(DocumentError::Unavailable(_))) {
            break;
        }
        answer = store.create(document.clone(), at(1)).await;
    }
    answer
}

#[tokio::test]
async fn a_document_comes_back_as_it_was_given() {
    for (server, store) in started() {
        let properties = r#"{ "price": 1.50, "note": "grün \" \\ 😀 a b" }"#;
        let given = Given {
            file_name: Some("Bericht für Öl.pdf".to_string()),
            content_type: Some("application/pdf".to_string()),
            custom_properties: Some(serde_json::from_str(properties).unwrap()),
            process_instance_key: Some(i64::MAX),
            ..expiring(at(4_000_000_000))
        };
        let large: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
        for id in ["d-1", "ü b?%#+", "..", "a..b~"] {
            let document = document(id, given.clone(), large.clone());
            store.create(document.clone(), at(1)).await.unwrap();
            let again = create_again(&store, &document).await;
            assert_eq!(again, Err(DocumentError::exists(id)));
            let found = store.get(id, at(1)).await.unwrap();
            let known: serde_json::Value = serde_json::from_str(&found.metadata.to_json()).unwrap();
            let given: serde_json::Value =
                serde_json::from_str(&document.metadata.to_json()).unwrap();
            assert_eq!(known, given);
            assert_eq!(all(found.content).await.unwrap(), large);
            // Another server sees the same documents.
            let other = S3Store::new(&config(&server)).unwrap();
            other.delete(id, at(1)).await.unwrap();
            let gone = DocumentError::no_document(id);
            assert_eq!(store.get(id, at(1)).await.unwrap_err(), gone);
            assert_eq!(store.delete(id, at(1)).await.unwrap_err(), gone);
        }
    }
}

#[tokio::test]
async fn an_empty_document_can_be_stored() {
    for (_server, store) in started() {
        store
            .create(document("d", Given::default(), ""), at(1))
            .await
            .unwrap();
        let found = store.get("d", at(1)).await.unwrap();
        assert_eq!(all(found.content).await.unwrap(), b"");
    }
}

#[tokio::test]
async fn expired_documents_are_gone_and_their_ids_are_free() {
    for (_server, store) in started() {
        let first = document("d", expiring(at(10)), "first");
        store.create(first, at(1)).await.unwrap();
        assert!(store.get("d", at(9)).await.is_ok());
        let gone = DocumentError::no_document("d");
        assert_eq!(store.get("d", at(10)).await.unwrap_err(), gone);
        assert_eq!(store.delete("d", at(10)).await.unwrap_err(), gone);
        store
            .create(document("d", Given::default(), "second"), at(11))
            .await
            .unwrap();
        let found = store.get("d", at(12)).await.unwrap();
        assert_eq!(all(found.content).await.unwrap(), b"second");
    }
}

#[tokio::test]
async fn a_link_leads_to_the_content_without_a_key() {
    for (_server, store) in started() {
        store
            .create(document("d", Given::default(), "content"), at(1))
            .await
            .unwrap();
        let check = |_: &Metadata| Ok(());
        let link = store
            .link("d", Duration::from_millis(1500), at(1), &check)
            .await
            .unwrap();
        assert_eq!(link.expires_at, at(3));
        let get = async |url: &str| {
            let connector = object_store::client::HttpConnector::connect(
                &skep_objects::HyperConnector,
                &Default::default(),
            );
            let request = http::Request::get(url).body(Bytes::new().into()).unwrap();
            let answer = connector.unwrap().execute(request).await.unwrap();
            (
                answer.status().as_u16(),
                answer.into_body().bytes().await.unwrap(),
            )
        };
        assert_eq!(get(&link.url).await, (200, Bytes::from("content")));
        let unsigned = link.url.split('?').next().unwrap();
        assert_eq!(get(unsigned).await.0, 403);
        let refuse = |_: &Metadata| Err(DocumentError::Invalid("hash".to_string()));
        assert!(
            store
                .link("d", Duration::from_secs(1), at(1), &refuse)
                .await
                .is_err()
        );
        assert!(
            store
                .link("none", Duration::from_secs(1), at(1), &check)
                .await
                .is_err()
        );
    }
}

#[tokio::test]
async fn fields_that_s3_does_not_take_are_refused_before() {
    for (_server, store) in started() {
        let properties = format!(r#"{{"a":"{}"}}"#, "ä".repeat(400));
        let given = Given {
            custom_properties: Some(serde_json::from_str(&properties).unwrap()),
            ..Given::default()
        };
        let refused = store.create(document("d", given, "x"), at(1)).await;
        assert!(
            matches!(refused, Err(DocumentError::Invalid(_))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_service_that_refuses_or_is_away_counts_as_unavailable_until_it_returns() {
    for (mut server, store) in started() {
        store
            .create(document("d", Given::default(), "content"), at(1))
            .await
            .unwrap();
        let refused = [
            S3 {
                secret_key: Some("wrong".to_string()),
                ..config(&server)
            },
            S3 {
                bucket: "nothing-here".to_string(),
                ..config(&server)
            },
        ];
        for config in refused {
            let store = S3Store::new(&config).unwrap();
            let created = store
                .create(document("e", Given::default(), "x"), at(1))
                .await;
            assert!(
                matches!(created, Err(DocumentError::Unavailable(_))),
                "{created:?}"
            );
            let error = store.get("d", at(1)).await.unwrap_err();
            assert!(matches!(error, DocumentError::Unavailable(_)), "{error:?}");
        }
        server.kill();
        let error = store.get("d", at(1)).await.unwrap_err();
        assert!(matches!(error, DocumentError::Unavailable(_)), "{error}");
        server.start().unwrap();
        let found = store.get("d", at(1)).await.unwrap();
        assert_eq!(all(found.content).await.unwrap(), b"content");
    }
}

#[test]
fn json_in_headers_keeps_its_meaning() {
    for json in [
        r#"{ "a" : [ 1.50, "x  y\\" , " \" é😀\u007f" ] }"#,
        "{\n\t\"b\": {}\r\n}",
        r#"{"c":"\\\\ \" "}"#,
    ] {
        let text = header_text(json);
        assert!(text.bytes().all(|b| (b' '..=b'~').contains(&b)), "{text}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&text), value(json));
    }
    assert_eq!(header_text(r#"{ "a": " b" }"#), r#"{"a":" b"}"#);
}
