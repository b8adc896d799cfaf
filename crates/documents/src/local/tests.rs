//! A directory of documents, and failures of it.

use bytes::Bytes;

use super::*;
use crate::Given;
use crate::content::tests::all;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn store(directory: &Path) -> LocalStore {
    LocalStore::new(Local {
        directory: directory.to_path_buf(),
        reserve: 0,
        shared: false,
    })
}

fn document(id: &str, content: &'static str, expires_at: Option<Timestamp>) -> Document {
    let given = Given {
        expires_at,
        ..Given::default()
    };
    Document {
        id: id.to_string(),
        metadata: Metadata::new(id, given, content.as_bytes(), at(0)).unwrap(),
        content: Bytes::from_static(content.as_bytes()),
    }
}

/// The files below a directory.
fn files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let count = |path: PathBuf| if path.is_dir() { files(&path) } else { 1 };
    entries.map(count).sum()
}

#[tokio::test]
async fn the_directory_is_created_with_the_first_document() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("a/b");
    let first = document("first", "content", None);
    store(&below).create(first, at(1)).await.unwrap();
    assert_eq!(files(&below), 1);
    create_directory(&below).unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    assert!(create_directory(&directory.path().join("file/c")).is_err());
}

#[tokio::test]
async fn a_document_is_kept_once_and_survives_the_store() {
    let directory = tempfile::tempdir().unwrap();
    for id in ["plain", "..", "a\\b", ".", "ä ö", "CON", "con"] {
        let document = document(id, "content", None);
        store(directory.path())
            .create(document.clone(), at(1))
            .await
            .unwrap();
        let again = store(directory.path()).create(document, at(1)).await;
        assert_eq!(again, Err(DocumentError::exists(id)));
        let found = store(directory.path()).get(id, at(1)).await.unwrap();
        assert_eq!(all(found.content).await.unwrap(), b"content");
    }
    assert_eq!(files(directory.path()), 7);
    let other = store(directory.path());
    other.delete("plain", at(1)).await.unwrap();
    for gone in ["plain", "other"] {
        let none = Err(DocumentError::no_document(gone));
        assert_eq!(other.delete(gone, at(1)).await, none);
    }
    assert_eq!(files(directory.path()), 6);
}

#[tokio::test]
async fn expired_documents_are_gone_and_their_space_is_freed() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path());
    let expiring = |content| document("d", content, Some(at(7200)));
    store.create(expiring("first"), at(1)).await.unwrap();
    store
        .create(document("stays", "x", None), at(1))
        .await
        .unwrap();
    let known = store.get("d", at(7199)).await.unwrap().metadata;
    assert_eq!(known.expires_at, Some(at(7200)));
    assert!(store.get("d", at(7200)).await.is_err());
    assert!(store.delete("d", at(7200)).await.is_err());
    // Its id is free again.
    store
        .create(document("d", "second", Some(at(9000))), at(8000))
        .await
        .unwrap();
    let found = store.get("d", at(8001)).await.unwrap();
    assert_eq!(all(found.content).await.unwrap(), b"second");
    // The hour of the first one's expiry mark has passed by now; the second has expired as well.
    store.sweep(at(10_799)).await.unwrap();
    assert_eq!(files(directory.path()), 3);
    store.sweep(at(10_801)).await.unwrap();
    assert_eq!(files(directory.path()), 1);
    assert!(store.get("stays", at(10_801)).await.is_ok());
}

/// A directory lists its entries in any order: with this many later hours, some past ones come late.
#[tokio::test]
async fn past_hours_are_swept_however_many_later_ones_there_are() {
    const PAST: i64 = 10;
    const LATER: i64 = 4000;
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path());
    for n in 0..PAST {
        let expiring = document(&n.to_string(), "x", Some(at(3600 * (n + 1))));
        store.create(expiring, at(1)).await.unwrap();
    }
    let marks = directory.path().join("expiring");
    for n in 0..LATER {
        fs::create_dir(marks.join(hour(at(3600 * (n + 100))))).unwrap();
    }
    store.sweep(at(3600 * (PAST + 2))).await.unwrap();
    assert_eq!(files(directory.path()), 0);
}

#[tokio::test]
async fn a_damaged_document_stays_and_later_ones_are_swept() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path());
    for (id, expires_at) in [("damaged", at(3600)), ("good", at(7200))] {
        let expiring = document(id, "content", Some(expires_at));
        store.create(expiring, at(1)).await.unwrap();
    }
    let name = LocalStore::name("damaged");
    fs::write(store.path(&name), "something else").unwrap();
    store.sweep(at(20_000)).await.unwrap();
    assert!(!store.path(&LocalStore::name("good")).exists());
    assert!(store.path(&name).exists());
    // Its mark is no longer where sweeps look.
    assert!(directory.path().join("damaged").join(&name).exists());
    let marks = directory.path().join("expiring");
    assert_eq!(names(&marks).unwrap().count(), 0);
}

#[tokio::test]
async fn a_damaged_document_is_not_reported_as_missing() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path());
    store
        .create(document("d", "content", None), at(1))
        .await
        .unwrap();
    let path = store.path(&LocalStore::name("d"));
    let whole = fs::read(&path).unwrap();
    for broken in [
        &whole[..5],
        &whole[..40],
        &whole[..whole.len() - 1],
        b"something else entirely",
    ] {
        fs::write(&path, broken).unwrap();
        let error = store.get("d", at(1)).await.unwrap_err();
        assert!(matches!(error, DocumentError::Broken(_)), "{error}");
    }
}

#[tokio::test]
async fn the_reserve_of_the_disk_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let store = LocalStore::new(Local {
        directory: directory.path().to_path_buf(),
        reserve: u64::MAX,
        shared: false,
    });
    let refused = store.create(document("d", "content", None), at(1)).await;
    assert!(
        matches!(refused, Err(DocumentError::Exhausted(_))),
        "{refused:?}"
    );
    assert_eq!(files(directory.path()), 0);
}

#[tokio::test]
async fn concurrent_creations_with_one_id_succeed_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let tries = (0..16).map(|_| {
        let store = store(directory.path());
        tokio::spawn(async move { store.create(document("d", "content", None), at(1)).await })
    });
    let mut kept = 0;
    for outcome in tries.collect::<Vec<_>>() {
        kept += usize::from(outcome.await.unwrap().is_ok());
    }
    assert_eq!((kept, files(directory.path())), (1, 1));
}
