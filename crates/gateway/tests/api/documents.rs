//! Documents over REST, in an in-memory store that also creates links.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use skep_documents::config::Memory;
use skep_documents::{
    BoxFuture, Document, DocumentError, Link, MemoryStore, Metadata, Store, StoredDocument, Stores,
};

use skep_random::Random;

use crate::fake::{KEY, Running, start, start_with};
use crate::http::{Answer, JSON, post, send};
use crate::login::ask;

/// An in-memory store of 100 KB, with links to any document.
#[derive(Debug)]
struct Linking(MemoryStore);

impl Store for Linking {
    fn create(
        &self,
        document: Document,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), DocumentError>> {
        self.0.create(document, now)
    }

    fn get<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<StoredDocument, DocumentError>> {
        self.0.get(id, now)
    }

    fn delete<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), DocumentError>> {
        self.0.delete(id, now)
    }

    fn link<'a>(
        &'a self,
        id: &'a str,
        time_to_live: Duration,
        now: Timestamp,
        _: &'a (dyn Fn(&Metadata) -> Result<(), DocumentError> + Send + Sync),
    ) -> BoxFuture<'a, Result<Link, DocumentError>> {
        Box::pin(async move {
            Ok(Link {
                url: format!("http://store/{id}"),
                expires_at: now + time_to_live,
            })
        })
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<(), DocumentError>> {
        self.0.sweep(now)
    }

    fn is_of_this_node(&self) -> bool {
        true
    }
}

/// The time in these tests.
fn now() -> Timestamp {
    "2026-11-22T12:00:00Z".parse().expect("a time")
}

pub fn stores() -> Stores {
    let memory = MemoryStore::new(&Memory { max_bytes: 100_000 });
    Stores::only("inmemory", Arc::new(Linking(memory)), Arc::new(now)).expect("one store")
}

const FORM: Option<&str> = Some("multipart/form-data; boundary=b");

/// A part with additional parameters in its header.
fn part(name: &str, head: &str, content: &str) -> String {
    format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{head}\r\n\r\n{content}\r\n")
}

async fn upload(gateway: &Running, path: &str, parts: &[String]) -> Answer {
    let body = format!("{}--b--\r\n", parts.concat());
    send(gateway.rest, "POST", path, FORM, body).await
}

async fn download(gateway: &Running, reference: &Value) -> Answer {
    let text = |name: &str| reference[name].as_str().expect("a text").to_string();
    let path = format!(
        "/v2/documents/{}?contentHash={}",
        text("documentId"),
        text("contentHash")
    );
    send(gateway.rest, "GET", &path, None, "").await
}

#[tokio::test]
async fn an_uploaded_document_is_described_and_downloads_unchanged() {
    let gateway = start().await;
    let said = json!({
        "fileName": "Öl.txt", "contentType": "text/plain", "expiresAt": "2026-11-23T13:00:00+01:00", "size": 7,
        "processDefinitionId": "order", "processInstanceKey": KEY.to_string(), "customProperties": {"price": 1},
    });
    let parts = [
        part("file", "; filename=\"a.bin\"", "some\r\ncontent"),
        part(
            "metadata",
            "\r\nContent-Type: application/json",
            &said.to_string(),
        ),
    ];
    let answer = upload(
        &gateway,
        "/v2/documents?documentId=d-1&storeId=inmemory",
        &parts,
    )
    .await;
    let created = answer.json();
    assert_eq!(answer.status, 201, "{created}");
    assert_eq!(
        created["metadata"],
        json!({
            "fileName": "Öl.txt", "contentType": "text/plain", "expiresAt": "2026-11-23T12:00:00.000Z", "size": 13,
            "processDefinitionId": "order", "processInstanceKey": KEY.to_string(), "customProperties": {"price": 1},
        })
    );
    assert_eq!(
        (&created["storeId"], &created["documentId"]),
        (&json!("inmemory"), &json!("d-1"))
    );

    let content = download(&gateway, &created).await;
    let header = |name: &str| content.headers[name].to_str().expect("text").to_string();
    assert_eq!(
        (content.status.as_u16(), &*content.text),
        (200, "some\r\ncontent")
    );
    assert_eq!(header("content-type"), "text/plain");
    assert_eq!(header("content-length"), "13");
    assert_eq!(
        header("content-disposition"),
        "attachment; filename*=UTF-8''%C3%96l.txt"
    );
    assert_eq!(header("x-content-type-options"), "nosniff");
}

/// The policy of the pages permits scripts of this server, and anyone who may store documents can store one.
#[tokio::test]
async fn no_page_runs_a_document() {
    let gateway = start().await;
    let parts = [part(
        "file",
        "\r\ncontent-type: text/javascript",
        "alert(1)",
    )];
    let created = upload(&gateway, "/v2/documents?documentId=d-1", &parts).await;
    let hash = created.json()["contentHash"].clone();
    let path = format!("/v2/documents/d-1?contentHash={}", hash.as_str().unwrap());
    for (wanted, status) in [
        ("script", 403),
        ("style", 403),
        ("worker", 403),
        ("serviceworker", 403),
        ("document", 200),
        ("image", 200),
        ("empty", 200),
    ] {
        let answer = ask(&gateway, ("GET", &path), &[("sec-fetch-dest", wanted)], "").await;
        assert_eq!(answer.status, status, "{wanted}");
        assert_eq!(answer.text == "alert(1)", status == 200, "{wanted}");
    }
}

#[tokio::test]
async fn a_document_is_found_under_its_id_and_hash_in_its_store() {
    let gateway = start().await;
    let parts = [part("file", "", "content")];
    let created = upload(&gateway, "/v2/documents?documentId=d-1", &parts).await;
    assert_eq!(created.status, 201);
    let hash = "00";
    for (path, status, said) in [
        ("/v2/documents/d-1".to_string(), 400, "No hash"),
        (
            format!("/v2/documents/d-1?contentHash={hash}"),
            400,
            "not have the hash",
        ),
        (
            format!("/v2/documents/d-2?contentHash={hash}"),
            404,
            "'d-2'",
        ),
        (
            "/v2/documents/d-1?storeId=aws".to_string(),
            400,
            "There are: inmemory.",
        ),
    ] {
        let (code, _, detail) = send(gateway.rest, "GET", &path, None, "").await.problem();
        assert_eq!(code, status, "{path}");
        assert!(detail.contains(said), "{detail}");
    }
    let (code, title, _) = upload(&gateway, "/v2/documents?documentId=d-1", &parts)
        .await
        .problem();
    assert_eq!((code, &*title), (409, "ALREADY_EXISTS"));
    let delete = async || {
        send(gateway.rest, "DELETE", "/v2/documents/d-1", None, "")
            .await
            .status
    };
    assert_eq!(
        (delete().await.as_u16(), delete().await.as_u16()),
        (204, 404)
    );
}

#[tokio::test]
async fn the_headers_of_a_part_count_where_its_metadata_say_nothing() {
    let gateway = start().await;
    let head = "; filename=\"a.pdf\"\r\nContent-Type: application/pdf";
    let answer = upload(&gateway, "/v2/documents", &[part("file", head, "")]).await;
    let created = answer.json();
    let known = &created["metadata"];
    assert_eq!(
        (&known["fileName"], &known["contentType"]),
        (&json!("a.pdf"), &json!("application/pdf"))
    );
    assert_eq!(
        (&known["size"], &known["expiresAt"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(download(&gateway, &created).await.text, "");
}

#[tokio::test]
async fn of_several_documents_each_is_kept_for_itself() {
    let gateway = start().await;
    let said = "\r\nX-Document-Metadata: {\"fileName\": \"first\"}";
    let files = [
        part("files", said, "one"),
        part("files", "; filename=\"second\"", "two"),
    ];
    let answer = upload(&gateway, "/v2/documents/batch", &files).await;
    let body = answer.json();
    assert_eq!(
        (answer.status.as_u16(), &body["failedDocuments"]),
        (201, &json!([]))
    );
    for (n, (name, content)) in [("first", "one"), ("second", "two")].iter().enumerate() {
        let created = &body["createdDocuments"][n];
        assert_eq!(created["metadata"]["fileName"], *name);
        assert_eq!(download(&gateway, created).await.text, *content);
    }

    let large = part("files", "; filename=\"large\"", &"x".repeat(200_000));
    let list = part(
        "metadataList",
        "",
        r#"[{"fileName": "x"}, {"fileName": "y"}]"#,
    );
    let small = part("files", "; filename=\"small\"", "1");
    let answer = upload(&gateway, "/v2/documents/batch", &[large, small, list]).await;
    let body = answer.json();
    let failed = &body["failedDocuments"][0];
    assert_eq!(answer.status, 207);
    assert_eq!(
        (&failed["fileName"], &failed["status"]),
        (&json!("x"), &json!(503))
    );
    assert_eq!(failed["title"], "RESOURCE_EXHAUSTED");
    assert_eq!(body["createdDocuments"][0]["metadata"]["fileName"], "y");
}

#[tokio::test]
async fn invalid_uploads_are_refused_and_nothing_is_stored() {
    let gateway = start_with(|config| config.multipart.max_size = 1000).await;
    let file = || part("file", "", "x");
    let files = || part("files", "", "x");
    let one = |json: &str| vec![file(), part("metadata", "", json)];
    for (path, parts, said) in [
        ("", vec![], "no part 'file'"),
        ("", vec![part("metadata", "", "{}")], "no part 'file'"),
        ("", vec![file(), file()], "several files"),
        ("", vec![files()], "unknown part 'files'"),
        (
            "",
            one("{"),
            "In 'metadata': The request body is not valid JSON",
        ),
        ("", one("[{},{}]"), "several files"),
        ("", one(r#"{"name": "x"}"#), "unknown field `name`"),
        ("", one(r#"{"expiresAt": "tomorrow"}"#), "'expiresAt'"),
        (
            "",
            one(r#"{"expiresAt": "2026-11-22T12:00:00Z"}"#),
            "in the past",
        ),
        (
            "",
            one(r#"{"processInstanceKey": 1}"#),
            "'processInstanceKey'",
        ),
        (
            "",
            one(r#"{"customProperties": []}"#),
            "must be a JSON object",
        ),
        ("?documentId=a%2Fb", vec![file()], "a '/'"),
        ("/batch", vec![file()], "unknown part 'file'"),
        (
            "/batch",
            vec![files(), part("metadataList", "", "[{},{}]")],
            "describes 2 files, but there are 1",
        ),
        (
            "/batch",
            vec![
                part("files", "\r\nX-Document-Metadata: {}", "x"),
                part("metadataList", "", "[{}]"),
            ],
            "twice",
        ),
        (
            "/batch",
            vec![files(), part("files", "\r\nX-Document-Metadata: 1", "x")],
            "In 'X-Document-Metadata'",
        ),
    ] {
        let answer = upload(&gateway, &format!("/v2/documents{path}"), &parts).await;
        let (code, _, detail) = answer.problem();
        assert_eq!(code, 400, "{detail}");
        assert!(detail.contains(said), "{detail} lacks {said}");
    }
    let answer = send(gateway.rest, "POST", "/v2/documents", Some(JSON), "{}").await;
    assert_eq!(answer.status, 415);
    let large = vec![part("file", "", &"x".repeat(1000))];
    let answer = upload(&gateway, "/v2/documents", &large).await;
    assert_eq!(answer.status, 413);
}

#[tokio::test]
async fn the_headers_of_a_part_have_room_for_its_metadata_and_not_for_more() {
    let gateway = start().await;
    let with = |bytes: usize| {
        let said = json!({"customProperties": {"note": "x".repeat(bytes)}});
        let head = format!("\r\nX-Document-Metadata: {said}");
        [part("file", "", "x"), part("file", &head, "x")]
    };
    let [_, whole] = with(15_000);
    let answer = upload(&gateway, "/v2/documents", &[whole]).await;
    assert_eq!(answer.status, 201);
    let answer = upload(&gateway, "/v2/documents", &with(33_000)).await;
    let (code, _, detail) = answer.problem();
    assert_eq!(code, 400, "{detail}");
    assert!(detail.contains("headers of part 2"), "{detail}");
    assert!(detail.contains("at most 32768"), "{detail}");
}

#[tokio::test]
async fn links_are_valid_for_an_hour_or_as_long_as_is_said() {
    let gateway = start().await;
    let path = "/v2/documents/d/links";
    for (body, until) in [
        ("", "13:00:00.000"),
        (r#"{"timeToLive": 1500}"#, "12:00:01.500"),
    ] {
        let answer = post(gateway.rest, path, body).await;
        let expected =
            json!({"url": "http://store/d", "expiresAt": format!("2026-11-22T{until}Z")});
        assert_eq!((answer.status.as_u16(), answer.json()), (201, expected));
    }
    let answer = post(gateway.rest, path, r#"{"timeToLive": 0}"#).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn how_jobs_are_counted_can_be_asked() {
    for counts_jobs in [true, false] {
        let gateway = start_with(|config| config.counts_jobs = counts_jobs).await;
        let answer = send(gateway.rest, "GET", "/v2/system/configuration", None, "").await;
        let said = &answer.json()["jobMetrics"];
        assert_eq!(
            (&said["enabled"], &said["exportInterval"]),
            (&json!(counts_jobs), &json!("PT1M"))
        );
    }
}

/// Variations of valid bodies, with parts left out, doubled and moved.
#[tokio::test]
async fn no_body_makes_the_server_fail() {
    let gateway = start().await;
    let pieces = [
        "--b",
        "--b--",
        "\r\n",
        "\r\n\r\n",
        "Content-Disposition: form-data; name=\"file\"",
        "Content-Disposition: form-data; name=\"files\"; filename*=UTF-8''%ff",
        "Content-Disposition: form-data; name=\"metadata\"",
        "Content-Disposition: form-data; name=\"metadataList\"",
        "X-Document-Metadata: {\"fileName\": \"\\u0000\"}",
        "Content-Type: \u{7f}/\r",
        "{\"customProperties\": {\"a\": 1e999}}",
        "[{}, null]",
        "\u{0}",
    ];
    let mut random = Random(7);
    let mut kept = 0;
    for _ in 0..2000 {
        let mut body = String::new();
        if random.one_in(2) {
            body.push_str("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n");
        }
        for _ in 0..random.below(12) {
            body.push_str(random.pick::<&str>(&pieces));
        }
        body.push_str(random.pick::<&str>(&["", "--b--", "\r\n--b--\r\n"]));
        let path = *random.pick(&["/v2/documents", "/v2/documents/batch"]);
        let status = send(gateway.rest, "POST", path, FORM, body)
            .await
            .status
            .as_u16();
        assert!(matches!(status, 201 | 400 | 503), "{status}");
        kept += usize::from(status == 201);
    }
    // Otherwise the test was meaningless.
    assert!(kept > 20, "{kept}");
}
