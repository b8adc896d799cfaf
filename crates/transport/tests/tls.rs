//! Connections with TLS, and log messages about failed ones.

mod support;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bytes::Bytes;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use skep_tls::{Certificate, KeyStore, Password};
use skep_transport::{Class, Config, OpenError, TlsFiles, Transport};
use support::{Seen, Start, all_connected, start, wait_for};

/// The log output of all tests in this process.
static LOG: LazyLock<Mutex<Vec<u8>>> = LazyLock::new(|| {
    let write = || Written;
    let log = tracing_subscriber::fmt()
        .with_writer(write)
        .with_ansi(false);
    log.init();
    Mutex::default()
});

struct Written;

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn logged(what: &str) -> bool {
    String::from_utf8_lossy(&LOG.lock()).contains(what)
}

/// An authority that signs for nodes.
struct Authority {
    directory: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        LazyLock::force(&LOG);
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("authority.pem"), issuer.pem()).unwrap();
        Authority { directory, issuer }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn files(&self, name: &str) -> TlsFiles {
        self.files_for(name, &[])
    }

    /// A certificate that names these nodes.
    fn files_for(&self, name: &str, nodes: &[&str]) -> TlsFiles {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_string()]).unwrap();
        let nodes = nodes
            .iter()
            .map(|node| SanType::URI((*node).try_into().unwrap()));
        params.subject_alt_names.extend(nodes);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let write = |name: String, text: String| {
            std::fs::write(self.path(&name), text).unwrap();
            self.path(&name)
        };
        TlsFiles {
            certificate: Certificate::Pem {
                chain: write(format!("{name}.pem"), certificate.pem()),
                private_key: write(format!("{name}.key"), key.serialize_pem()),
            },
            authority: Some(self.path("authority.pem")),
        }
    }
}

fn with_tls(number: u32, contacts: &[std::net::SocketAddr], tls: TlsFiles) -> Start {
    Start {
        tls: Some(tls),
        ..Start::new(number, contacts)
    }
}

#[test]
fn nodes_with_certificates_of_one_authority_talk() {
    let authority = Authority::new();
    let (zero, of_zero) = start(with_tls(0, &[], authority.files("zero")));
    let contact = [of_zero.address()];
    let (_one, of_one) = start(with_tls(1, &contact, authority.files("one")));
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    let large = Bytes::from(vec![7; 3_000_000]);
    of_one.send(0, Class::Bulk, large.clone()).unwrap();
    of_one
        .send(0, Class::Requests, Bytes::from_static(b"small"))
        .unwrap();
    wait_for("the messages", || {
        let seen = zero.seen.lock();
        seen.contains(&Seen::Message(1, Class::Bulk, large.clone()))
            && seen.contains(&Seen::Message(1, Class::Requests, "small".into()))
    });
}

#[test]
fn all_nodes_may_share_one_certificate_that_nobody_has_signed() {
    LazyLock::force(&LOG);
    let directory = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["node".to_string()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let (chain, private_key) = (
        directory.path().join("node.pem"),
        directory.path().join("node.key"),
    );
    std::fs::write(&chain, certificate.pem()).unwrap();
    std::fs::write(&private_key, key.serialize_pem()).unwrap();
    let files = TlsFiles {
        certificate: Certificate::Pem { chain, private_key },
        authority: None,
    };
    let (_zero, of_zero) = start(with_tls(0, &[], files.clone()));
    let (_one, of_one) = start(with_tls(1, &[of_zero.address()], files));
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
}

/// A key store written by `openssl`, as operators do: the node's key and certificate, an intermediate certificate, and the authority.
fn key_store(authority: Option<PathBuf>) -> TlsFiles {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tls/tests/key_stores");
    TlsFiles {
        certificate: Certificate::KeyStore(KeyStore {
            path: stores.join("openssl.p12"),
            password: Password::new("hush"),
            ..KeyStore::default()
        }),
        authority,
    }
}

#[test]
fn nodes_trust_the_authority_that_their_key_store_has() {
    LazyLock::force(&LOG);
    let (_zero, of_zero) = start(with_tls(0, &[], key_store(None)));
    let contact = [of_zero.address()];
    let (_one, of_one) = start(with_tls(1, &contact, key_store(None)));
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    // A file of authorities takes precedence over those in the store.
    let other = Authority::new();
    let strict = key_store(Some(other.path("authority.pem")));
    let (_two, of_two) = start(with_tls(2, &contact, strict));
    wait_for("the log", || {
        logged("the certificate of the other side is not accepted")
    });
    assert!(!all_connected(&of_two, 0));
}

#[test]
fn a_certificate_of_another_authority_is_refused_and_logged() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (_zero, of_zero) = start(with_tls(0, &[], authority.files("zero")));
    let contact = [of_zero.address()];
    let (_one, of_one) = start(with_tls(1, &contact, stranger.files("one")));
    wait_for("the log", || {
        logged("the certificate of the other side is not accepted")
    });
    assert!(!all_connected(&of_one, 0));
    // The node trusts the authority, but shows a certificate of another one.
    let mut one = stranger.files("spy");
    one.authority = Some(authority.path("authority.pem"));
    let (_spy, of_spy) = start(with_tls(2, &contact, one));
    wait_for("the log", || {
        logged("the other side does not accept this node's certificate")
    });
    assert!(!all_connected(&of_spy, 0) && !all_connected(&of_zero, 2));
}

#[test]
fn a_certificate_that_names_nodes_is_good_for_these_only() {
    let authority = Authority::new();
    let zero = authority.files_for("zero", &["urn:skep:node:0"]);
    let (_zero, of_zero) = start(with_tls(0, &[], zero));
    let contact = [of_zero.address()];
    // A certificate for several nodes, and one that names none.
    let one = authority.files_for("one", &["urn:skep:node:1", "urn:skep:node:7"]);
    let (_one, of_one) = start(with_tls(1, &contact, one.clone()));
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    // With the files of node 1, a node that claims to be node 2 fails at its own start.
    let config = |tls| Config {
        node: 2,
        size: 3,
        first_gateway: 1000,
        listen: support::any(),
        contact_points: contact.iter().map(ToString::to_string).collect(),
        tls: Some(tls),
    };
    let (node, _) = start(Start::new(2, &[]));
    let error = match Transport::open(config(one.clone()), node) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was opened"),
    };
    let reason = "node 2 shows a certificate for urn:skep:node:1, urn:skep:node:7: it needs one that names urn:skep:node:2";
    assert!(
        error.contains("one.pem") && error.contains(reason),
        "{error}"
    );
    // Without this check at the start, the others refuse it.
    let (spy, of_spy) = start(Start {
        says: Some(2),
        ..with_tls(1, &contact, one)
    });
    wait_for("the log", || logged(&format!("reason={reason}")));
    assert!(!all_connected(&of_spy, 0) && !all_connected(&of_zero, 2));
    drop(spy);
}

#[test]
fn a_node_without_tls_is_refused_and_the_log_says_so() {
    let authority = Authority::new();
    let (_zero, of_zero) = start(with_tls(0, &[], authority.files("zero")));
    let (_one, of_one) = start(Start::new(1, &[of_zero.address()]));
    wait_for("the log", || logged("the other side does not speak TLS"));
    let (_two, of_two) = start(with_tls(2, &[of_one.address()], authority.files("two")));
    wait_for("the log", || {
        logged("it does not speak the protocol between Skep nodes")
    });
    assert!(!all_connected(&of_one, 0) && !all_connected(&of_two, 1));
}

#[test]
fn versions_that_follow_each_other_talk_and_others_are_refused() {
    let between = |own: (u32, u32), other: (u32, u32)| {
        let (zero, of_zero) = start(Start {
            versions: own,
            ..Start::new(0, &[])
        });
        let (one, of_one) = start(Start {
            versions: other,
            ..Start::new(1, &[of_zero.address()])
        });
        (zero, of_zero, one, of_one)
    };
    let (_zero, of_zero, _one, of_one) = between((1, 1), (1, 2));
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    for class in Class::ALL {
        assert_eq!(of_zero.version(1, class), Some(1));
        assert_eq!(of_one.version(0, class), Some(1));
    }
    drop((_one, of_one));
    wait_for("the end of the connections", || {
        of_zero.version(1, Class::Requests).is_none()
    });
    assert_eq!(of_zero.last_version(1), Some(1), "it is remembered");
    LazyLock::force(&LOG);
    let (_zero, of_zero, _one, of_one) = between((1, 1), (2, 3));
    wait_for("the log", || {
        logged(
            "node 1 speaks the versions 2 to 3 of the protocol between nodes, and node 0 the versions 1 to 1",
        )
    });
    assert!(!all_connected(&of_zero, 1) && !all_connected(&of_one, 0));
}

#[test]
fn files_that_cannot_be_used_stop_the_start_and_are_named() {
    let authority = Authority::new();
    let open = |files: TlsFiles| {
        let config = Config {
            node: 0,
            size: 3,
            first_gateway: 1000,
            listen: support::any(),
            contact_points: Vec::new(),
            tls: Some(files),
        };
        let (node, _) = start(Start::new(0, &[]));
        match Transport::open(config, node) {
            Err(OpenError::Tls(error)) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was opened"),
        }
    };
    let good = authority.files("good");
    let broken = |change: fn(&mut PathBuf, &mut PathBuf, &Path)| {
        let mut files = good.clone();
        let Certificate::Pem { chain, private_key } = &mut files.certificate else {
            panic!("not in PEM format");
        };
        change(chain, private_key, authority.directory.path());
        open(files)
    };
    let error = broken(|_, key, at| *key = at.join("nothing.key"));
    assert!(
        error.contains("nothing.key cannot be read as a private key"),
        "{error}"
    );
    let error = broken(|chain, key, _| chain.clone_from(key));
    assert!(error.contains("it has none"), "{error}");
    authority.files("other");
    let error = broken(|_, key, at| *key = at.join("other.key"));
    assert!(
        error.contains("good.pem cannot be used with TLS") && error.contains("KeyMismatch"),
        "{error}"
    );
    let mut store = key_store(None);
    if let Certificate::KeyStore(store) = &mut store.certificate {
        store.password = Password::new("loud");
    }
    let error = open(store);
    assert!(
        error.contains("openssl.p12 cannot be read as a PKCS#12 key store: the password is wrong"),
        "{error}"
    );
}
