//! Behaviour common to all stores.

use std::path::Path;

use super::*;
use crate::config::{Local, Memory};
use crate::content::tests::all;

fn config(directory: &Path) -> Config {
    let local = Local {
        directory: directory.to_path_buf(),
        reserve: 0,
        shared: false,
    };
    let stores = [
        ("local", Kind::Local(local)),
        ("inmemory", Kind::Memory(Memory::default())),
    ];
    Config {
        stores: stores
            .map(|(id, kind)| StoreConfig {
                id: id.to_string(),
                kind,
            })
            .into(),
        ..Config::default()
    }
}

fn open(config: &Config) -> Stores {
    Stores::open(config, Arc::new(|| Timestamp::UNIX_EPOCH)).unwrap()
}

#[tokio::test]
async fn each_store_keeps_what_it_is_given() {
    let directory = tempfile::tempdir().unwrap();
    let stores = open(&config(directory.path()));
    for store in ["local", "inmemory"] {
        let given = Given {
            file_name: Some("a.txt".to_string()),
            content_type: Some("text/plain".to_string()),
            ..Given::default()
        };
        let create = |given| stores.create(Some(store), Some("d"), given, "abc".into());
        let created = create(given.clone()).await.unwrap();
        assert_eq!((&*created.store, &*created.id), (store, "d"));
        assert_eq!(create(given).await.unwrap_err(), DocumentError::exists("d"));
        let hash = created.metadata.content_hash.as_deref();
        let found = stores.get(Some(store), "d", hash).await.unwrap();
        assert_eq!(found.metadata.to_json(), created.metadata.to_json());
        assert_eq!(all(found.content).await.unwrap(), b"abc");
        for (hash, said) in [(None, "No hash"), (Some("00"), "not have the hash")] {
            let error = stores.get(Some(store), "d", hash).await.unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        let link = stores.link(Some(store), "d", hash, Duration::from_secs(1));
        assert!(matches!(link.await, Err(DocumentError::NotSupported(_))));
        stores.delete(Some(store), "d").await.unwrap();
        let gone = stores.get(Some(store), "d", hash).await.unwrap_err();
        assert_eq!(gone, DocumentError::no_document("d"));
    }
}

#[tokio::test]
async fn without_a_named_store_the_default_one_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let create = async |config: &Config, store: Option<&str>| {
        let stores = open(config);
        let created = stores.create(store, None, Given::default(), Bytes::new());
        created.await.map(|created| created.store.to_string())
    };
    let mut config = config(directory.path());
    assert_eq!(create(&config, None).await.unwrap(), "local");
    config.default = Some("inmemory".to_string());
    assert_eq!(create(&config, Some("")).await.unwrap(), "inmemory");
    let error = create(&config, Some("gcp")).await.unwrap_err();
    assert!(
        error.to_string().contains("There are: local, inmemory."),
        "{error}"
    );
    config.default = Some("aws".to_string());
    assert!(Stores::open(&config, Arc::new(Timestamp::now)).is_err());
}

#[tokio::test]
async fn a_missing_document_of_an_unshared_store_is_explained_in_a_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.is_one_of_several = true;
    let says_so = async |config: &Config| {
        let missing = open(config).get(None, "d", None).await;
        missing
            .unwrap_err()
            .to_string()
            .contains("of this node only")
    };
    assert!(says_so(&config).await);
    if let Kind::Local(local) = &mut config.stores[0].kind {
        local.shared = true;
    }
    assert!(!says_so(&config).await);
}

#[tokio::test]
async fn concurrent_downloads_are_limited() {
    let directory = tempfile::tempdir().unwrap();
    let stores = open(&config(directory.path()));
    let create = stores.create(Some("inmemory"), Some("d"), Given::default(), "abc".into());
    let hash = create.await.unwrap().metadata.content_hash;
    let get = || stores.get(Some("inmemory"), "d", hash.as_deref());
    let mut under_way = Vec::new();
    for _ in 0..MAX_DOWNLOADS {
        under_way.push(get().await.unwrap());
    }
    assert!(matches!(get().await, Err(DocumentError::Exhausted(_))));
    under_way.pop();
    assert!(get().await.is_ok());
}
