//! Document stores: any number, each with its own id.

use std::collections::BTreeMap;
use std::path::Path;

use skep_broker::backup::LocalDocuments;
use skep_documents::StoreConfig;
use skep_documents::config::{Kind, Local, Memory, S3};

use super::source::{self, Source};
use super::value::{Kind as ValueKind, Value, squeeze};

/// A setting of a store.
pub struct Setting {
    pub name: &'static str,
    pub kind: ValueKind,
    pub doc: &'static str,
    set: fn(&mut Draft, &str),
}

macro_rules! settings {
    ($($name:literal $kind:expr => $set:expr; $doc:literal)*) => {
        /// In the order in which they are documented.
        pub static SETTINGS: &[Setting] = &[$(Setting { name: $name, kind: $kind, doc: $doc, set: $set }),*];
    };
}

settings! {
    "class" ValueKind::Text => |draft, text| draft.class = Some(text.to_string());
        "Class of the store; only the last part of the name counts: `InMemoryDocumentStoreProvider`, `LocalStorageDocumentStoreProvider` or `AwsDocumentStoreProvider`."
    "path" ValueKind::Text => |draft, text| draft.path = Some(text.to_string());
        "Directory of a local store."
    "shared" ValueKind::Flag => |draft, text| draft.shared = matches!(ValueKind::Flag.parse(text), Some(Value::Flag(true)));
        "All nodes of the cluster share that directory. Skep's own."
    "bucket" ValueKind::Text => |draft, text| draft.s3.bucket = text.to_string();
        "Bucket in S3; also `bucket-name`."
    "bucket-path" ValueKind::Text => |draft, text| draft.s3.path = text.to_string();
        "Prefix of document ids in the bucket."
    "endpoint" ValueKind::Url => |draft, text| draft.s3.endpoint = Some(text.to_string());
        "Address of an S3-compatible service other than Amazon's, with buckets in the path; `http` or `https`. Also from `AWS_ENDPOINT_URL`."
    "region" ValueKind::Text => |draft, text| draft.s3.region = Some(text.to_string());
        "Region of the service. Also from `AWS_REGION`."
    "access-key" ValueKind::Text => |draft, text| draft.s3.access_key = Some(text.to_string());
        "Access key, together with `secret-key`. Credentials also come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, a web identity, or the role of the container or machine."
    "secret-key" ValueKind::Secret => |draft, text| draft.s3.secret_key = Some(text.to_string());
        "Secret key, together with `access-key`."
    "max-size" ValueKind::Bytes(1 << 20, 1 << 40) => |draft, text| draft.max_bytes = bytes(text);
        "Maximum total size of the documents of an in-memory store. Default: 64 MB. Skep's own."
}

fn bytes(text: &str) -> Option<usize> {
    match ValueKind::Bytes(0, 1 << 40).parse(text)? {
        Value::Number(bytes) => usize::try_from(bytes).ok(),
        _ => None,
    }
}

/// The settings of one store, as far as given.
#[derive(Default)]
pub struct Draft {
    class: Option<String>,
    path: Option<String>,
    shared: bool,
    s3: S3,
    max_bytes: Option<usize>,
}

/// The given settings of all stores.
#[derive(Default)]
pub struct Given<'g> {
    /// By id; later values win.
    by_id: BTreeMap<String, Vec<(String, &'g source::Given)>>,
}

impl<'g> Given<'g> {
    /// Takes a setting, if it belongs to a store.
    pub fn take(&mut self, given: &'g source::Given) -> bool {
        let Some((id, rest)) = split(given) else {
            return false;
        };
        self.by_id.entry(id).or_default().push((rest, given));
        true
    }

    /// Builds the stores; faults are added to `problems`.
    pub fn finish(
        self,
        warnings: &mut Vec<String>,
        problems: &mut Vec<String>,
    ) -> Vec<StoreConfig> {
        let mut stores = Vec::new();
        for (id, settings) in self.by_id {
            let kind = store(&settings, warnings, problems);
            match kind {
                Ok(kind) => stores.push(StoreConfig { id, kind }),
                Err(reason) => problems.push(format!("the document store '{id}' {reason}")),
            }
        }
        stores
    }
}

fn store(
    settings: &[(String, &source::Given)],
    warnings: &mut Vec<String>,
    problems: &mut Vec<String>,
) -> Result<Kind, String> {
    let mut draft = Draft::default();
    for (name, given) in settings.iter().filter(|(_, given)| !given.text.is_empty()) {
        let plain = |name: &str| name.replace(['-', '.'], "");
        let found = match name.as_str() {
            "bucketname" => SETTINGS.iter().find(|setting| setting.name == "bucket"),
            name => SETTINGS.iter().find(|setting| plain(setting.name) == name),
        };
        match found {
            Some(setting) if setting.kind.parse(&given.text).is_none() => problems.push(format!(
                "{} = '{}' ({}): expected {}",
                given.name,
                given.text,
                given.source,
                setting.kind.expected()
            )),
            Some(setting) => (setting.set)(&mut draft, &given.text),
            None if name == "bucketttl" => warnings.push(format!(
                "{} ({}) has no effect: give the bucket a lifecycle rule that deletes old objects, or give documents an expiry time",
                given.name, given.source
            )),
            None => warnings.push(format!(
                "{} ({}) is unknown or not supported by this version: it has no effect",
                given.name, given.source
            )),
        }
    }
    draft.finish()
}

impl Draft {
    fn finish(self) -> Result<Kind, String> {
        let Some(class) = &self.class else {
            return Err("has settings but no class: set LocalStorageDocumentStoreProvider, InMemoryDocumentStoreProvider or \
                 AwsDocumentStoreProvider"
                .to_string());
        };
        match class.rsplit('.').next().unwrap_or_default() {
            "InMemoryDocumentStoreProvider" => Ok(Kind::Memory(Memory {
                max_bytes: self.max_bytes.unwrap_or(Memory::default().max_bytes),
            })),
            "LocalStorageDocumentStoreProvider" => match self.path {
                Some(path) => Ok(Kind::Local(Local {
                    directory: path.into(),
                    reserve: 0,
                    shared: self.shared,
                })),
                None => Err("needs a path: the directory of its documents".to_string()),
            },
            "AwsDocumentStoreProvider" if self.s3.bucket.is_empty() => {
                Err("needs the name of its bucket".to_string())
            }
            "AwsDocumentStoreProvider" => Ok(Kind::S3(self.s3)),
            _ => Err(format!(
                "has the class {class}, which this version does not support. Supported are LocalStorageDocumentStoreProvider, \
                 InMemoryDocumentStoreProvider and AwsDocumentStoreProvider (S3)"
            )),
        }
    }
}

/// The stores of a server without configured stores.
pub fn of_every_server(data: &Path) -> Vec<StoreConfig> {
    let local = Local {
        directory: data.join("documents"),
        reserve: 0,
        shared: false,
    };
    let kinds = [
        ("local", Kind::Local(local)),
        ("inmemory", Kind::Memory(Memory::default())),
    ];
    let store = |(id, kind): (&str, Kind)| StoreConfig {
        id: id.to_string(),
        kind,
    };
    kinds.map(store).into()
}

/// The stores in directories, as backups see them.
pub fn in_backups(stores: &[StoreConfig], is_one_of_several: bool) -> Vec<LocalDocuments> {
    let locals = stores.iter().filter_map(|store| match &store.kind {
        Kind::Local(local) => Some(LocalDocuments {
            store: store.id.clone(),
            directory: local.directory.clone(),
            whole: local.shared || !is_one_of_several,
        }),
        Kind::Memory(_) | Kind::S3(_) => None,
    });
    locals.collect()
}

/// The id of the store and the name of its setting, normalized for comparison.
fn split(given: &source::Given) -> Option<(String, String)> {
    if let Source::Environment(_) = given.source {
        let name = given.name.to_ascii_lowercase();
        let prefixes = ["document_store_", "camunda_document_store_"];
        let below = prefixes
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))?;
        let (id, rest) = below.split_once('_')?;
        return Some((id.to_string(), rest.replace('_', "")));
    }
    let name = squeeze(&given.name);
    let prefixes = ["camunda.document.store.", "document.store."];
    let below = prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    let (id, rest) = below.split_once('.')?;
    Some((id.to_string(), rest.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Loaded, resolve};

    fn environment(variables: &[(&str, &str)]) -> Result<Loaded, String> {
        let variables = variables
            .iter()
            .map(|(name, text)| (name.to_string(), text.to_string()));
        let given = source::environment(variables);
        resolve(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn stores_are_named_as_the_reference_has_them() {
        let loaded = environment(&[
            ("DOCUMENT_DEFAULT_STORE_ID", "aws"),
            (
                "DOCUMENT_STORE_AWS_CLASS",
                "io.camunda.document.store.aws.AwsDocumentStoreProvider",
            ),
            ("DOCUMENT_STORE_AWS_BUCKET", "papers"),
            ("DOCUMENT_STORE_AWS_BUCKET_PATH", "a/b"),
            ("DOCUMENT_STORE_AWS_BUCKET_TTL", "30"),
            (
                "DOCUMENT_STORE_LOCAL_CLASS",
                "LocalStorageDocumentStoreProvider",
            ),
            ("DOCUMENT_STORE_LOCAL_PATH", "/srv/documents"),
        ]);
        let loaded = loaded.unwrap();
        let [aws, local] = &*loaded.settings.document_stores else {
            panic!("two stores");
        };
        let Kind::S3(s3) = &aws.kind else {
            panic!("{aws:?}")
        };
        assert_eq!((&*aws.id, &*s3.bucket, &*s3.path), ("aws", "papers", "a/b"));
        let Kind::Local(directory) = &local.kind else {
            panic!("{local:?}")
        };
        assert_eq!(
            (&*local.id, &*directory.directory),
            ("local", Path::new("/srv/documents"))
        );
        assert!(
            loaded
                .warnings
                .iter()
                .any(|warning| warning.contains("lifecycle rule"))
        );
        assert!(!format!("{aws:?}").contains("secret"));
    }

    #[test]
    fn a_store_that_cannot_be_stops_the_start() {
        for (variables, said) in [
            (&[("DOCUMENT_STORE_A_PATH", "x")][..], "no class"),
            (
                &[("DOCUMENT_STORE_A_CLASS", "GcpDocumentStoreProvider")],
                "does not support",
            ),
            (
                &[(
                    "DOCUMENT_STORE_A_CLASS",
                    "LocalStorageDocumentStoreProvider",
                )],
                "needs a path",
            ),
            (
                &[("DOCUMENT_STORE_A_CLASS", "AwsDocumentStoreProvider")],
                "needs the name of its bucket",
            ),
            (
                &[("DOCUMENT_DEFAULT_STORE_ID", "gcp")],
                "document store 'gcp' does not exist",
            ),
            (
                &[
                    ("DOCUMENT_STORE_A_CLASS", "InMemoryDocumentStoreProvider"),
                    ("DOCUMENT_STORE_A_MAX_SIZE", "much"),
                ],
                "expected",
            ),
        ] {
            let error = environment(variables).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_file_names_them_likewise() {
        let given = |name: &str, text: &str| source::Given::flag("--set", name, text);
        let loaded = resolve(&[
            given(
                "camunda.document.store.big.class",
                "InMemoryDocumentStoreProvider",
            ),
            given("camunda.document.store.big.max-size", "1GB"),
            given(
                "camunda.document.store.s3.class",
                "AwsDocumentStoreProvider",
            ),
            given("camunda.document.store.s3.bucket-name", "papers"),
            given(
                "camunda.document.store.s3.endpoint",
                "http://localhost:9000",
            ),
            given("camunda.document.default-store-id", "s3"),
        ]);
        let stores = loaded.unwrap().settings.document_stores;
        let ids: Vec<&str> = stores.iter().map(|store| &*store.id).collect();
        assert_eq!(ids, ["big", "s3"]);
        assert!(matches!(&stores[0].kind, Kind::Memory(memory) if memory.max_bytes == 1 << 30));
    }
}
