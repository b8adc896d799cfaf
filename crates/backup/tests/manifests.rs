//! Manifests of every format version are read, and written as they always were.

use std::path::Path;

use skep_backup::{
    Begun, DocumentsManifest, FORMAT, FORMAT_OF_PARTS, Listed, Location, Manifest, Reader, Store,
    StoredObject, Unreadable,
};

const GOLDEN: [(u32, &str); 2] = [
    (FORMAT, include_str!("golden/manifest-1.json")),
    (FORMAT_OF_PARTS, include_str!("golden/manifest-2.json")),
];

fn store(directory: &Path) -> Store {
    Store::open(&Location::Directory(directory.to_path_buf())).unwrap()
}

fn begun() -> Begun {
    Begun {
        backup_id: 7,
        cluster_id: "it".to_string(),
        version: "0.1.0".to_string(),
        began_at: 1,
        broker_id: 0,
        partitions: 1,
    }
}

#[test]
fn manifests_of_each_format_are_read_and_written_again_without_change() {
    for (format, golden) in GOLDEN {
        let (earlier, now) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let manifest = |directory: &Path| directory.join("backups/7/manifest.json");
        std::fs::create_dir_all(manifest(earlier.path()).parent().unwrap()).unwrap();
        std::fs::write(manifest(earlier.path()), golden).unwrap();
        let read = Reader::open(&store(earlier.path()), 7).unwrap().manifest;
        assert_eq!(read.format, format);
        assert_eq!(Manifest::format_of(7, &read.documents), format);
        begun().complete(&store(now.path()), &read).unwrap();
        let written = std::fs::read_to_string(manifest(now.path())).unwrap();
        assert_eq!(written, golden.trim_end());
    }
}

/// A version of Skep that reads the first format only restored the beginning of a file as the whole document.
#[test]
fn a_backup_with_the_beginning_of_a_file_has_a_format_that_earlier_versions_refuse() {
    let whole = DocumentsManifest {
        store: "local".to_string(),
        objects: Some(Vec::new()),
        listed: None,
        unreadable: Vec::new(),
    };
    let lacks = DocumentsManifest {
        unreadable: vec![Unreadable {
            path: "ab/ab12".to_string(),
            reason: "Input/output error".to_string(),
        }],
        ..whole.clone()
    };
    assert_eq!(Manifest::format_of(7, &[]), FORMAT);
    let both = [whole.clone(), whole.clone()];
    assert_eq!(Manifest::format_of(7, &both), FORMAT);
    assert_ne!(Manifest::format_of(7, &[whole, lacks]), FORMAT);
}

/// An object of an earlier backup may have documents that were deleted since.
#[test]
fn a_backup_that_refers_to_documents_of_an_earlier_one_has_a_format_that_earlier_versions_refuse() {
    let object = StoredObject {
        name: "backup-documents/local/7/000001".to_string(),
        bytes: 1,
        sha256: String::new(),
    };
    let documents = DocumentsManifest {
        store: "local".to_string(),
        objects: Some(vec![object]),
        listed: Some(Listed {
            objects: Vec::new(),
            content_bytes: vec![1],
        }),
        unreadable: Vec::new(),
    };
    let documents = [documents];
    assert_eq!(Manifest::format_of(7, &documents), FORMAT);
    assert_ne!(Manifest::format_of(8, &documents), FORMAT);
}
