//! A directory, buckets and containers behave alike.

use std::time::Duration;

use bytes::Bytes;
use skep_objects::{
    Azure, Condition, Gcs, Location, NotWritten, ObjectError, Objects, RETRY_FOR, S3,
};
use skep_testbed::{Azurite, S3Server};

mod google;

use google::Google;

async fn holds_what_a_store_promises(objects: &Objects) {
    let text = |text: &'static str| Bytes::from_static(text.as_bytes());
    objects.create("a/1/x", text("first")).await.unwrap();
    let again = objects.create("a/1/x", text("second")).await;
    assert!(
        matches!(again, Err(ObjectError::Exists { .. })),
        "{again:?}"
    );
    assert_eq!(objects.get("a/1/x").await.unwrap(), "first");
    objects.put("a/1/x", text("third")).await.unwrap();
    objects.put("a/2/y/z", text("")).await.unwrap();
    assert_eq!(objects.get("a/1/x").await.unwrap(), "third");
    let listed = objects.list("a").await.unwrap();
    let names: Vec<_> = listed
        .iter()
        .map(|it| (it.name.as_str(), it.bytes))
        .collect();
    assert_eq!(names, [("a/1/x", 5), ("a/2/y/z", 0)]);
    for (after, left) in [("a/0", 2), ("a/1/x", 1), ("a/2/y/y", 1), ("a/2/y/z", 0)] {
        let listed = objects.list_after("a", after).await.unwrap();
        assert_eq!(listed.len(), left, "after {after}");
    }
    // A directory name must match as a whole: 1 is not a prefix of 12.
    objects.put("a/12/x", text("other")).await.unwrap();
    assert_eq!(objects.list("a/1").await.unwrap().len(), 1);
    let mut directories = objects.directories("a").await.unwrap();
    directories.sort();
    assert_eq!(directories, ["1", "12", "2"]);
    assert!(objects.list("none").await.unwrap().is_empty());
    assert!(objects.directories("none").await.unwrap().is_empty());
    objects.delete("a/1/x").await.unwrap();
    objects.delete("a/1/x").await.unwrap();
    let gone = objects.get("a/1/x").await;
    assert!(
        matches!(gone, Err(ObjectError::NotFound { .. })),
        "{gone:?}"
    );
    let large = Bytes::from(vec![7; 9 << 20]);
    objects.create("large", large.clone()).await.unwrap();
    assert_eq!(objects.get("large").await.unwrap(), large);
}

#[tokio::test]
async fn a_directory_is_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let location = Location::Directory(directory.path().join("made/for/it"));
    let objects = Objects::open(&location).unwrap();
    holds_what_a_store_promises(&objects).await;
}

fn bucket(server: &S3Server, name: &str) -> Location {
    Location::S3 {
        bucket: S3 {
            bucket: name.to_string(),
            endpoint: Some(server.endpoint()),
            region: Some(S3Server::REGION.to_string()),
            access_key: Some(S3Server::ACCESS_KEY.to_string()),
            secret_key: Some(S3Server::SECRET_KEY.to_string()),
        },
        prefix: "some/where".to_string(),
        limit: RETRY_FOR,
    }
}

#[tokio::test]
async fn a_bucket_is_a_store() {
    for server in S3Server::start_each() {
        server.make_bucket("objects").unwrap();
        let objects = Objects::open(&bucket(&server, "objects")).unwrap();
        assert_eq!(objects.shown(), "s3://objects/some/where");
        holds_what_a_store_promises(&objects).await;
        let none = Objects::open(&bucket(&server, "none")).unwrap();
        let error = none.get("x").await.unwrap_err();
        assert!(error.to_string().contains("no such bucket"), "{error}");
    }
}

#[tokio::test]
async fn an_object_is_written_under_conditions() {
    for server in S3Server::start_each() {
        server.make_bucket("objects").unwrap();
        let objects = Objects::open(&bucket(&server, "objects")).unwrap();
        let text = |text: &'static str| Bytes::from_static(text.as_bytes());
        let refused = |written: Result<String, NotWritten>| {
            assert!(matches!(written, Err(NotWritten::Refused)), "{written:?}");
        };
        assert_eq!(objects.get_with_tag("x").await.unwrap(), None);
        let missing = Condition::Tag("\"0123\"".to_string());
        refused(objects.put_if("x", text("0"), &missing).await);
        let absent = Condition::Absent;
        let first = objects.put_if("x", text("1"), &absent).await.unwrap();
        refused(objects.put_if("x", text("2"), &absent).await);
        let found = objects.get_with_tag("x").await.unwrap();
        assert_eq!(found, Some((text("1"), first.clone())));
        let is_first = Condition::Tag(first.clone());
        let second = objects.put_if("x", text("3"), &is_first).await.unwrap();
        assert_ne!(first, second);
        refused(objects.put_if("x", text("4"), &is_first).await);
        assert_eq!(objects.get("x").await.unwrap(), "3");
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_said_within_the_limit() {
    let location = Location::S3 {
        bucket: S3 {
            bucket: "objects".to_string(),
            // A port without a server.
            endpoint: Some("http://127.0.0.1:9".to_string()),
            region: Some("r".to_string()),
            access_key: Some("a".to_string()),
            secret_key: Some("s".to_string()),
        },
        prefix: String::new(),
        limit: Duration::from_millis(200),
    };
    let objects = Objects::open(&location).unwrap();
    let error = objects.get("x").await.unwrap_err();
    assert!(matches!(error, ObjectError::Unavailable { .. }), "{error}");
}

fn container(server: &Azurite) -> Azure {
    Azure {
        container: "backups".to_string(),
        endpoint: Some(server.endpoint()),
        key: Some(Azurite::KEY.to_string()),
        ..Azure::default()
    }
}

#[tokio::test]
async fn a_container_is_a_store_and_is_made_if_that_is_wished() {
    let Some(server) = Azurite::start_new() else {
        return;
    };
    let open = |container: Azure| {
        let limit = RETRY_FOR;
        Objects::open(&Location::Azure { container, limit }).unwrap()
    };
    let as_it_is = open(container(&server));
    for error in [
        as_it_is.put("x", Bytes::new()).await.unwrap_err(),
        as_it_is.list("a").await.unwrap_err(),
        as_it_is.directories("a").await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("no such bucket"), "{error}");
    }
    let objects = open(Azure {
        create: true,
        ..container(&server)
    });
    assert_eq!(objects.shown(), "azure://backups");
    assert!(objects.list("a").await.unwrap().is_empty());
    assert!(objects.directories("a").await.unwrap().is_empty());
    let error = objects.get("x").await.unwrap_err();
    assert!(matches!(error, ObjectError::NotFound { .. }), "{error}");
    holds_what_a_store_promises(&objects).await;
    as_it_is.put("x", Bytes::new()).await.unwrap();
    let stranger = open(Azure {
        key: Some("c29tZWJvZHkgZWxzZQ==".to_string()),
        ..container(&server)
    });
    let error = stranger.get("x").await.unwrap_err();
    assert!(matches!(error, ObjectError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_bucket_of_google_is_asked_as_its_api_says() {
    let server = Google::start().await;
    let bucket = |name: &str| Location::Gcs {
        bucket: Gcs {
            bucket: name.to_string(),
            host: Some(server.address()),
            anonymous: true,
        },
        prefix: "some/where".to_string(),
        limit: RETRY_FOR,
    };
    let objects = Objects::open(&bucket("backups")).unwrap();
    assert_eq!(objects.shown(), "gs://backups/some/where");
    holds_what_a_store_promises(&objects).await;
    let none = Objects::open(&bucket("none")).unwrap();
    let error = none.get("x").await.unwrap_err();
    assert!(error.to_string().contains("no such bucket"), "{error}");
    let mut seen = server.requests();
    seen.truncate(6);
    let golden = [
        "PUT /backups/some%2Fwhere%2Fa%2F1%2Fx x-goog-if-generation-match: 0",
        "PUT /backups/some%2Fwhere%2Fa%2F1%2Fx x-goog-if-generation-match: 0",
        "GET /backups/some%2Fwhere%2Fa%2F1%2Fx",
        "PUT /backups/some%2Fwhere%2Fa%2F1%2Fx",
        "PUT /backups/some%2Fwhere%2Fa%2F2%2Fy%2Fz",
        "GET /backups/some%2Fwhere%2Fa%2F1%2Fx",
    ];
    assert_eq!(seen, golden);
}
