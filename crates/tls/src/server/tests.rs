//! A port with TLS, called by clients that trust its certificate and by others.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig};

use super::*;
use crate::ClientTls;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Certificate and key of `name`, in PEM.
fn issued(authority: &Authority, name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_string()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

struct Files {
    directory: TempDir,
    authority: Authority,
}

impl Files {
    fn new() -> Files {
        let files = Files {
            directory: tempfile::tempdir().unwrap(),
            authority: authority(),
        };
        std::fs::write(files.path("authority"), files.authority.pem()).unwrap();
        files.issue("localhost");
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn issue(&self, name: &str) {
        let (certificate, key) = issued(&self.authority, name);
        std::fs::write(self.path("certificate"), certificate).unwrap();
        std::fs::write(self.path("key"), key).unwrap();
    }

    fn served(&self, clients: Clients) -> ServerFiles {
        ServerFiles {
            certificate: Certificate::Pem {
                chain: self.path("certificate"),
                private_key: self.path("key"),
            },
            clients,
        }
    }

    fn open(&self, clients: Clients) -> ServerTls {
        ServerTls::open(&self.served(clients), &["h2", "http/1.1"]).unwrap()
    }
}

/// Sends a byte there and back; otherwise the client's error.
async fn echo(tls: &ServerTls, client: &ClientTls, name: &str) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = async {
        let mut socket = tls.accept(listener.accept().await?.0);
        let mut byte = [0];
        socket.read_exact(&mut byte).await?;
        socket.write_all(&byte).await?;
        socket.shutdown().await
    };
    let client = async {
        let mut socket = client
            .connect(name, TcpStream::connect(address).await?)
            .await?;
        socket.write_all(b"x").await?;
        let mut byte = [0];
        socket.read_exact(&mut byte).await?;
        assert_eq!(&byte, b"x");
        std::io::Result::Ok(())
    };
    let (_, client) = tokio::join!(server, client);
    client
}

fn believes(authority: &Path) -> ClientTls {
    ClientTls::open(Some(authority), &["h2"]).unwrap()
}

/// The same by a client that blocks, which asks again after a time limit.
async fn echo_blocking(
    tls: &ServerTls,
    client: ClientTls,
    name: &'static str,
) -> std::io::Result<()> {
    use std::io::{ErrorKind, Read, Write};

    const LONG: Option<Duration> = Some(Duration::from_secs(20));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (go_on, waits) = tokio::sync::oneshot::channel();
    let server = async {
        let mut socket = tls.accept(listener.accept().await?.0);
        let mut byte = [0];
        socket.read_exact(&mut byte).await?;
        let _ = waits.await;
        socket.write_all(&byte).await
    };
    let client = tokio::task::spawn_blocking(move || {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_read_timeout(LONG)?;
        let mut socket = client.connect_blocking(name, stream)?;
        socket.write_all(b"x")?;
        socket.flush()?;
        let mut byte = [0];
        socket
            .tcp()
            .set_read_timeout(Some(Duration::from_millis(20)))?;
        let late = socket.read(&mut byte).unwrap_err().kind();
        assert!(matches!(late, ErrorKind::WouldBlock | ErrorKind::TimedOut));
        let _ = go_on.send(());
        socket.tcp().set_read_timeout(LONG)?;
        socket.read_exact(&mut byte)?;
        assert_eq!(&byte, b"x");
        std::io::Result::Ok(())
    });
    let (_, client) = tokio::join!(server, client);
    client.unwrap()
}

#[tokio::test]
async fn a_client_that_blocks_believes_the_same_and_may_ask_again() {
    let files = Files::new();
    let tls = files.open(Clients::NotAsked);
    let believes = || ClientTls::open(Some(&files.path("authority")), &["http/1.1"]).unwrap();
    echo_blocking(&tls, believes(), "localhost").await.unwrap();
    let other_name = echo_blocking(&tls, believes(), "elsewhere").await;
    let why = other_name.unwrap_err();
    let is_not_trusted = why
        .get_ref()
        .is_some_and(|why| why.is::<crate::NotTrusted>());
    assert!(is_not_trusted, "{why}");
}

#[tokio::test]
async fn a_client_reaches_a_server_whose_authority_and_name_it_believes() {
    let files = Files::new();
    let tls = files.open(Clients::NotAsked);
    echo(&tls, &believes(&files.path("authority")), "localhost")
        .await
        .unwrap();
    let other_name = echo(&tls, &believes(&files.path("authority")), "elsewhere").await;
    assert!(
        other_name
            .unwrap_err()
            .to_string()
            .contains("not valid for name")
    );
    let other = Files::new();
    let stranger = echo(&tls, &believes(&other.path("authority")), "localhost").await;
    assert!(
        stranger
            .unwrap_err()
            .to_string()
            .contains("invalid peer certificate")
    );
}

#[tokio::test]
async fn a_certificate_that_signed_itself_is_believed_by_whom_it_was_given() {
    let files = Files::new();
    let mut params = CertificateParams::new(vec!["localhost".to_string()]).unwrap();
    // As created by `openssl req -x509`.
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap();
    std::fs::write(files.path("certificate"), own.pem()).unwrap();
    std::fs::write(files.path("key"), key.serialize_pem()).unwrap();
    let tls = files.open(Clients::NotAsked);
    let client = believes(&files.path("certificate"));
    echo(&tls, &client, "localhost").await.unwrap();
    assert!(echo(&tls, &client, "elsewhere").await.is_err());
    let stranger = believes(&files.path("authority"));
    assert!(echo(&tls, &stranger, "localhost").await.is_err());
}

/// A client with its own certificate.
fn with_certificate(authority: &Path, certificate: &str, key: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(authority).unwrap());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        );
    Arc::new(config.unwrap()).into()
}

async fn shows(tls: &ServerTls, client: &TlsConnector) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = async {
        let mut socket = tls.accept(listener.accept().await?.0);
        let mut byte = [0];
        socket.read_exact(&mut byte).await
    };
    let client = async {
        let name = ServerName::try_from("localhost").unwrap();
        let mut socket = client
            .connect(name, TcpStream::connect(address).await?)
            .await?;
        socket.write_all(b"x").await?;
        socket.shutdown().await
    };
    let (server, _) = tokio::join!(server, client);
    server.map(drop)
}

#[tokio::test]
async fn a_client_without_a_good_certificate_is_refused_where_one_is_needed() {
    let files = Files::new();
    let of_clients = Files::new();
    let (good, key) = issued(&of_clients.authority, "worker");
    let good = with_certificate(&files.path("authority"), &good, &key);
    let (bad, key) = issued(&files.authority, "worker");
    let bad = with_certificate(&files.path("authority"), &bad, &key);
    let none = believes(&files.path("authority"));

    let needed = files.open(Clients::Needed(Authorities::Pem(
        of_clients.path("authority"),
    )));
    shows(&needed, &good).await.unwrap();
    assert!(shows(&needed, &bad).await.is_err());
    assert!(echo(&needed, &none, "localhost").await.is_err());

    let wanted = files.open(Clients::Wanted(Authorities::Pem(
        of_clients.path("authority"),
    )));
    shows(&wanted, &good).await.unwrap();
    assert!(shows(&wanted, &bad).await.is_err());
    echo(&wanted, &none, "localhost").await.unwrap();
}

#[tokio::test]
async fn new_connections_see_a_changed_certificate_and_a_broken_one_changes_nothing() {
    let files = Files::new();
    let tls = files.open(Clients::NotAsked);
    let client = believes(&files.path("authority"));
    let before = tls.shown.changed();

    files.issue("renewed");
    assert_ne!(tls.shown.changed(), before);
    tls.read_again();
    echo(&tls, &client, "renewed").await.unwrap();
    assert!(echo(&tls, &client, "localhost").await.is_err());

    std::fs::write(files.path("certificate"), "half of a file").unwrap();
    tls.read_again();
    echo(&tls, &client, "renewed").await.unwrap();
}

#[tokio::test]
async fn a_key_store_is_served_from_and_read_again_when_it_changes() {
    let written = |name: &str| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.join("tests/key_stores").join(name)
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.p12");
    std::fs::copy(written("openssl.p12"), &path).unwrap();
    let files = ServerFiles {
        certificate: Certificate::KeyStore(KeyStore {
            path: path.clone(),
            password: crate::Password::new("hush"),
            ..KeyStore::default()
        }),
        clients: Clients::NotAsked,
    };
    let tls = ServerTls::open(&files, &["h2"]).unwrap();
    let of_authority = believes(&written("authority.pem"));
    let of_other = believes(&written("rsa.pem"));
    echo(&tls, &of_authority, "localhost").await.unwrap();
    assert!(echo(&tls, &of_other, "localhost").await.is_err());
    let before = tls.shown.changed();
    let shown = tls.certificate();

    // An unreadable file changes nothing.
    std::fs::copy(written("keytool.p12"), &path).unwrap();
    assert_ne!(tls.shown.changed(), before);
    tls.read_again();
    assert_eq!(tls.certificate(), shown);
    std::fs::copy(written("rsa.p12"), &path).unwrap();
    tls.read_again();
    assert_ne!(tls.certificate(), shown);
    // The other client would resume its session, and see no certificate.
    let stranger = believes(&written("authority.pem"));
    assert!(echo(&tls, &stranger, "localhost").await.is_err());
}

#[test]
fn files_that_cannot_be_used_are_named_with_the_reason() {
    let files = Files::new();
    let refused = |clients| {
        let refused = ServerTls::open(&files.served(clients), &[]);
        refused.unwrap_err().to_string()
    };
    let (_, other_key) = issued(&files.authority, "localhost");
    std::fs::write(files.path("key"), other_key).unwrap();
    let text = refused(Clients::NotAsked);
    assert!(
        text.contains("certificate cannot be used for TLS: its key is not in"),
        "{text}"
    );
    std::fs::remove_file(files.path("key")).unwrap();
    let text = refused(Clients::NotAsked);
    assert!(
        text.contains("key cannot be read as a private key in PEM format"),
        "{text}"
    );
    files.issue("localhost");
    let text = refused(Clients::Needed(Authorities::Pem(files.path("nowhere"))));
    assert!(
        text.contains("nowhere cannot be read as certificates"),
        "{text}"
    );
}

#[tokio::test]
async fn plain_text_fails_the_handshake() {
    let files = Files::new();
    let tls = files.open(Clients::NotAsked);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut socket = tls.accept(listener.accept().await.unwrap().0);
    let error = socket.read(&mut [0]).await.unwrap_err();
    let inner = error.get_ref().unwrap().downcast_ref::<rustls::Error>();
    assert!(
        matches!(inner, Some(rustls::Error::InvalidMessage(_))),
        "{error}"
    );
    // Continuing anyway yields errors.
    socket.read(&mut [0]).await.unwrap_err();
    socket.write_all(b"x").await.unwrap_err();
    socket.flush().await.unwrap();
    socket.shutdown().await.unwrap();
}
