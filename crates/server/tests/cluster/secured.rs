//! TLS between nodes, with certificates on both sides: gateways can connect to brokers, strangers cannot.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::*;

/// Creates an authority, and files `NAME.pem` and `NAME.key` signed by it for each name.
pub fn make_certificates(directory: &Path, authority: &str, names: &[String]) {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(directory.join(authority), issuer.pem()).unwrap();
    for name in names {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([format!("node-{name}")]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let write =
            |file: String, text: String| std::fs::write(directory.join(file), text).unwrap();
        write(format!("{name}.pem"), certificate.pem());
        write(format!("{name}.key"), key.serialize_pem());
    }
}

/// Settings of a node with the certificate of this name.
pub fn settings(directory: &Path, authority: &str, name: &str) -> [(String, String); 4] {
    let tls = "camunda.cluster.network.transport-layer-security.cluster";
    let file = |name: String| directory.join(name).display().to_string();
    [
        (format!("{tls}.enabled"), "true".to_string()),
        (
            format!("{tls}.certificate-chain-path"),
            file(format!("{name}.pem")),
        ),
        (
            format!("{tls}.certificate-private-key-path"),
            file(format!("{name}.key")),
        ),
        (
            "skep.cluster.tls.certificate-authority-path".to_string(),
            file(authority.to_string()),
        ),
    ]
}

fn arguments(settings: [(String, String); 4]) -> Vec<String> {
    let set = |(name, value): (String, String)| ["--set".to_string(), format!("{name}={value}")];
    settings.into_iter().flat_map(set).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn gateways_come_to_brokers_by_tls_and_a_stranger_does_not() {
    let mut nodes = Nodes::new(1);
    let directory = nodes.data.path().to_path_buf();
    make_certificates(&directory, "authority.pem", &["one".to_string()]);
    make_certificates(&directory, "other.pem", &["stranger".to_string()]);
    nodes.more = arguments(settings(&directory, "authority.pem", "one"));
    let servers = nodes.all().await;
    let gateway = nodes.gateway(0).await.unwrap();
    ledger::deploy_one_task(&gateway.client()).await;
    let request = CreateInstance::latest("one-task");
    gateway.client().create_instance(&request).await.unwrap();

    // The gateway trusts the brokers, but they do not trust it.
    let mut stranger = settings(&directory, "authority.pem", "stranger").to_vec();
    stranger.push((
        "camunda.cluster.initial-contact-points".to_string(),
        format!("127.0.0.1:{}", nodes.ports[0]),
    ));
    stranger.push(("camunda.cluster.node-id".to_string(), "7".to_string()));
    let port = "camunda.cluster.network.internal-api.port".to_string();
    stranger.push((port, "0".to_string()));
    let log = directory.join("stranger.log");
    let mut stranger = std::process::Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["serve", "--role", "gateway", "--rest-port", "0"])
        .args(["--grpc-port", "0", "--management-port", "0"])
        .args(
            stranger
                .iter()
                .flat_map(|(name, value)| ["--set".to_string(), format!("{name}={value}")]),
        )
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    eventually("the stranger to say why", async || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("the other side does not accept this node's certificate")
    })
    .await;
    eventually("the broker to say why", async || {
        let said = servers[0].log();
        said.contains("the certificate of the other side is not accepted")
    })
    .await;
    stranger.kill().unwrap();
    support::end(&mut stranger);
    gateway.client().create_instance(&request).await.unwrap();
}
