//! TLS on the three ports of the real binary, tested with its own command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use skep_tls::ClientTls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Files of an authority and of a server certificate signed by it.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn new() -> Certificates {
        let made = Certificates(tempfile::tempdir().unwrap());
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_string()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        std::fs::write(made.path("authority.pem"), issuer.pem()).unwrap();
        std::fs::write(made.path("server.pem"), certificate.pem()).unwrap();
        std::fs::write(made.path("server.key"), key.serialize_pem()).unwrap();
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Settings of a port with the certificate.
    fn settings(&self, prefix: &str) -> [String; 4] {
        let file = |key: &str, name: &str| format!("{prefix}.{key}={}", self.path(name).display());
        [
            "--set".into(),
            file("certificate", "server.pem"),
            "--set".into(),
            file("certificate-private-key", "server.key"),
        ]
    }
}

struct Server {
    child: Child,
    banner: String,
}

impl Server {
    fn start(data: &Path, settings: &[String]) -> Server {
        Server::start_with(data, settings, &[])
    }

    /// With one certificate on its three ports.
    fn on_all_ports(data: &Path, certificates: &Certificates) -> Server {
        let settings = [
            "server.ssl",
            "camunda.api.grpc.ssl",
            "management.server.ssl",
        ];
        let settings = settings.map(|prefix| certificates.settings(prefix));
        Server::start(data, &settings.concat())
    }

    /// With these environment variables.
    fn start_with(data: &Path, settings: &[String], variables: &[(&str, String)]) -> Server {
        let mut child = skep()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .args([
                "serve",
                "--rest-port",
                "0",
                "--grpc-port",
                "0",
                "--management-port",
                "0",
            ])
            .arg("--data")
            .arg(data)
            .args(settings)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("What to do next") {
            assert!(lines.read_line(&mut banner).unwrap() > 0, "ended: {banner}");
        }
        // Later output is short, and not read.
        std::mem::forget(lines);
        Server { child, banner }
    }

    /// The addresses of REST, gRPC and management, as [`Server::address`] has each.
    fn addresses(&self) -> [String; 3] {
        ["REST", "gRPC", "management"].map(|name| self.address(name))
    }

    /// The address with the host name of the certificate.
    fn address(&self, interface: &str) -> String {
        let mut lines = self.banner.lines().map(str::trim);
        let line = lines.find(|line| line.starts_with(interface)).unwrap();
        let url = line.split_whitespace().last().unwrap();
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let port = rest.split('/').next().unwrap().rsplit(':').next().unwrap();
        format!("{scheme}://localhost:{port}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn skep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skep"));
    command.env_remove("CAMUNDA_CA_CERTIFICATE_PATH");
    command
}

fn run(arguments: &[&str]) -> Output {
    skep().args(arguments).output().unwrap()
}

fn done(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}{error}");
    text
}

fn failed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const MODEL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/first-process.bpmn"
);

#[test]
fn all_three_ports_speak_only_tls_and_clients_check_the_certificate() {
    let certificates = Certificates::new();
    let data = tempfile::tempdir().unwrap();
    let server = Server::on_all_ports(data.path(), &certificates);
    let [rest, grpc, management] = server.addresses();
    for address in [&rest, &grpc, &management] {
        assert!(address.starts_with("https://"), "{}", server.banner);
    }
    let authority = certificates.path("authority.pem").display().to_string();
    let believing = ["--ca-certificate", authority.as_str()];

    done(&[&["deploy", MODEL, "--address", &rest][..], &believing].concat());
    let over_grpc = ["start", "order", "--transport", "grpc", "--address", &grpc];
    done(&[&over_grpc[..], &believing].concat());
    let listed = done(&[&["instances", "--address", &rest][..], &believing].concat());
    assert!(listed.contains("order"), "{listed}");
    let status = ["status", "--address", &rest, "--management", &management];
    let status = done(&[&status[..], &believing].concat());
    assert!(
        status.contains("healthy") || status.contains("HEALTHY"),
        "{status}"
    );
    let load = [
        "load",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--rest-address",
        &rest,
    ];
    let load = [
        &load[..],
        &["--management-address", &management],
        &believing,
    ]
    .concat();
    done(&load);

    let error = failed(&["instances", "--address", &rest.replace("https", "http")]);
    assert!(error.contains("https://"), "{error}");
    // The machine does not trust this authority.
    let error = failed(&["instances", "--address", &rest]);
    assert!(
        error.starts_with("error[CERTIFICATE_NOT_TRUSTED]: ") || error.contains("trusts no"),
        "{error}"
    );
    // Plain text is answered with a TLS alert, and no HTTP.
    let port: u16 = rest.rsplit(':').next().unwrap().parse().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(b"GET /v2/topology HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.windows(4).any(|four| four == b"HTTP"), "{answer:?}");
}

/// Measures over REST and from the metrics of the management port.
const LOADED: &str = "name: loaded
hypothesis: A cluster of others is loaded over TLS.
steps:
- {name: workers, do: {workers: true}}
- {name: load, do: {load: {per-second: 20}}}
- {name: first, do: {wait: {until: {created: 20}, limit-s: 120}}}
- {name: topology, do: {request: {node: 0, method: GET, path: /v2/topology, status: 200}}}
- {name: health, do: {request: {node: 0, management: true, method: GET, path: /actuator/health, status: 200}}}
- {name: end, after-s: 3, do: stop-load}
drain-s: 60
criteria:
- {name: nothing is lost, measure: {of: ledger.lost}, limit: {at-most: 0}}
- {name: instances, measure: {of: ledger.acknowledged}, limit: {at-least: 20}}
- {name: topology, measure: {of: topology.right}, limit: {at-least: 1}}
- {name: health, measure: {of: health.right}, limit: {at-least: 1}}
- {name: metrics, measure: {of: jobs-completed}, limit: {at-least: 20}}
";

#[test]
fn a_chaos_experiment_loads_a_cluster_over_tls_at_ports_of_its_own() {
    let certificates = Certificates::new();
    let data = tempfile::tempdir().unwrap();
    let server = Server::on_all_ports(&data.path().join("data"), &certificates);
    let [rest, grpc, management] = server.addresses();
    let (plan, report) = (data.path().join("plan.yaml"), data.path().join("report"));
    std::fs::write(&plan, LOADED).unwrap();
    let (plan, report) = (plan.display().to_string(), report.display().to_string());
    let chaos = [
        "chaos",
        &plan,
        "--report",
        &report,
        "--against",
        &rest,
        "--grpc-address",
        &grpc,
        "--management-address",
        &management,
    ];
    let authority = certificates.path("authority.pem").display().to_string();
    let said = done(&[&chaos[..], &["--ca-certificate", &authority]].concat());
    assert!(said.starts_with("loaded: HELD (5 of 5"), "{said}");
    let listed = [
        "processes",
        "--address",
        &rest,
        "--ca-certificate",
        &authority,
    ];
    let listed = done(&listed);
    assert!(
        !listed.contains("skep-chaos"),
        "it was not deleted: {listed}"
    );

    // What is not trusted at first never will be, and nobody waits for it.
    let other = format!("{report}-other");
    let chaos = chaos.map(|word| if word == report { other.as_str() } else { word });
    let refused = run(&chaos);
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stdout);
    let is_said = said.contains("certificate is not trusted") || said.contains("trusts no");
    assert!(is_said, "{said}");
}

/// The configuration of docs/operations.md with these certificates, in a file beside them.
fn documented(certificates: &Certificates) -> String {
    let page = include_str!("../../../docs/operations.md");
    let (_, text) = page.split_once("```yaml\nserver.ssl:\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let mut text = format!("server.ssl:\n{text}");
    for name in ["server.pem", "server.key"] {
        let documented = format!("/etc/skep/{name}");
        assert!(text.contains(&documented), "{text}");
        text = text.replace(&documented, &certificates.path(name).display().to_string());
    }
    let file = certificates.path("tls.yaml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Whether the port shows a certificate of this authority to a new connection.
async fn shows_one_of(authority: &Path, address: &str) -> bool {
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
    let client = ClientTls::open(Some(authority), &["h2", "http/1.1"]).unwrap();
    client.connect("localhost", stream.unwrap()).await.is_ok()
}

#[tokio::test]
async fn all_three_ports_show_a_renewed_certificate_without_a_restart() {
    let (first, renewed) = (Certificates::new(), Certificates::new());
    let data = tempfile::tempdir().unwrap();
    let of_page = ["--config".to_string(), documented(&first)];
    let settings = [&of_page[..], &first.settings("management.server.ssl")].concat();
    let server = Server::start(data.path(), &settings);
    let ports = server.addresses();
    let [old, new] = [&first, &renewed].map(|it| it.path("authority.pem"));
    for port in &ports {
        assert!(shows_one_of(&old, port).await, "{port}");
        assert!(!shows_one_of(&new, port).await, "{port}");
    }
    for name in ["server.pem", "server.key"] {
        std::fs::copy(renewed.path(name), first.path(name)).unwrap();
    }
    let began = Instant::now();
    for port in &ports {
        while !shows_one_of(&new, port).await {
            assert!(began.elapsed() < Duration::from_secs(180), "{port}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(!shows_one_of(&old, port).await, "{port}");
    }
}

#[test]
fn a_certificate_that_cannot_be_used_stops_the_start_before_there_is_data() {
    let certificates = Certificates::new();
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::remove_file(certificates.path("server.key")).unwrap();
    let mut arguments = vec![
        "serve".to_string(),
        "--data".into(),
        data.display().to_string(),
    ];
    arguments.extend(certificates.settings("server.ssl"));
    let output = skep().args(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("server.ssl: ") && error.contains("server.key"),
        "{error}"
    );
    assert!(!data.exists());
}

/// A key store written by `openssl`, and the settings that name it.
fn key_store(store: &str, password: &str, name: &str) -> [String; 4] {
    let made = concat!(env!("CARGO_MANIFEST_DIR"), "/../tls/tests/key_stores");
    [
        "--set".into(),
        format!("{store}={made}/{name}"),
        "--set".into(),
        format!("{password}=hush"),
    ]
}

/// The metrics of a server, over TLS.
async fn metrics(management: &str, authority: &Path) -> String {
    exchange(management, authority, "GET /actuator/prometheus", "", "").await
}

/// The answer to a request, over TLS. `headers`: whole lines.
async fn exchange(
    address: &str,
    authority: &Path,
    request: &str,
    headers: &str,
    body: &str,
) -> String {
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
    let client = ClientTls::open(Some(authority), &["http/1.1"]).unwrap();
    let socket = client.connect("localhost", stream.unwrap()).await;
    let mut socket = socket.unwrap();
    let length = body.len();
    let request = format!(
        "{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn all_three_ports_use_their_key_stores() {
    let data = tempfile::tempdir().unwrap();
    let of_spring = |area: &str| {
        let name = |field: &str| format!("{area}.{field}");
        key_store(
            &name("key-store"),
            &name("key-store-password"),
            "openssl.p12",
        )
    };
    let grpc = "camunda.api.grpc.ssl.key-store";
    let settings = [
        of_spring("server.ssl"),
        of_spring("management.server.ssl"),
        key_store(
            &format!("{grpc}.file-path"),
            &format!("{grpc}.password"),
            "legacy.p12",
        ),
    ];
    let server = Server::start(data.path(), &settings.concat());
    let [rest, grpc, management] = server.addresses();
    let authority = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tls/tests/key_stores/authority.pem"
    );
    let believing = ["--ca-certificate", authority];
    done(&[&["deploy", MODEL, "--address", &rest][..], &believing].concat());
    let over_grpc = ["start", "order", "--transport", "grpc", "--address", &grpc];
    done(&[&over_grpc[..], &believing].concat());
    let metrics = metrics(&management, Path::new(authority)).await;
    for port in ["rest", "grpc", "management"] {
        let line = format!("skep_certificate_expires_seconds{{port=\"{port}\"}} 49");
        assert!(metrics.contains(&line), "{metrics}");
    }

    let wrong = key_store(
        "server.ssl.key-store",
        "server.ssl.key-store-password",
        "keytool.p12",
    );
    let arguments = [&["serve".to_string()], &wrong[..]].concat();
    let output = skep().args(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("server.ssl: ") && error.contains("the password is wrong"),
        "{error}"
    );
    assert!(!error.contains("hush"), "{error}");
}

#[tokio::test]
async fn a_session_over_tls_is_in_a_cookie_that_no_other_host_can_set() {
    let certificates = Certificates::new();
    let data = tempfile::tempdir().unwrap();
    let file = |name: &str| certificates.path(name).display().to_string();
    let variables = [
        ("SERVER_SSL_CERTIFICATE", file("server.pem")),
        ("SERVER_SSL_CERTIFICATEPRIVATEKEY", file("server.key")),
        ("CAMUNDA_SECURITY_AUTHENTICATION_METHOD", "basic".into()),
        (
            "CAMUNDA_SECURITY_INITIALIZATION_USERS_0_USERNAME",
            "anna".into(),
        ),
        (
            "CAMUNDA_SECURITY_INITIALIZATION_USERS_0_PASSWORD",
            "right".into(),
        ),
    ];
    let server = Server::start_with(data.path(), &[], &variables);
    let rest = server.address("REST");
    assert!(rest.starts_with("https://"), "{}", server.banner);
    let authority = certificates.path("authority.pem");
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let login = "username=anna&password=right";
    let mut answer = exchange(&rest, &authority, "POST /login", form, login).await;
    // The first users are there a moment after the port.
    while !answer.starts_with("HTTP/1.1 204") {
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        tokio::time::sleep(Duration::from_millis(20)).await;
        answer = exchange(&rest, &authority, "POST /login", form, login).await;
    }
    let (_, session) = answer
        .split_once("set-cookie: __Host-camunda-session=")
        .unwrap_or_else(|| panic!("{answer}"));
    let (value, attributes) = session.split_once(';').unwrap();
    let attributes = attributes.lines().next().unwrap();
    assert!(attributes.contains("Secure") && attributes.contains("Path=/"));
    assert!(!attributes.contains("Domain"), "{attributes}");
    for (name, status) in [
        ("__Host-camunda-session", "200"),
        ("camunda-session", "401"),
    ] {
        let cookie = format!("cookie: {name}={value}\r\n");
        let answer = exchange(&rest, &authority, "GET /v2/topology", &cookie, "").await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{name}: {answer}"
        );
    }
}
