//! Secondary storage in a search server over HTTPS.

use std::path::PathBuf;
use std::sync::Arc;

use skep_exporting::{Trust, Verify};
use skep_query::entities::PROCESS_INSTANCE;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::outage::{fault, filled, recover, refused};
use super::search_server::{location, settings};
use skep_testkit::certificates::Certificates;
use skep_testkit::one_task::{create, rig};
use skep_testkit::stores::follow;

/// Terminates TLS in front of a server without it.
struct Front {
    port: u16,
    _runtime: Runtime,
}

impl Front {
    fn start(to: u16, config: Arc<ServerConfig>) -> Front {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(config);
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let accepted = acceptor.accept(client);
                tokio::spawn(async move {
                    // A client that does not trust the certificate disconnects.
                    let Ok(mut client) = accepted.await else {
                        return;
                    };
                    let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Front {
            port,
            _runtime: runtime,
        }
    }
}

#[test]
fn a_search_server_is_reached_by_https_if_its_authority_and_name_are_right() {
    let Some(server) = super::BACKEND.search_server() else {
        return;
    };
    let (named, other) = (Certificates::of("127.0.0.1"), Certificates::of("elsewhere"));
    let front = Front::start(server.port(), named.server.clone());
    let elsewhere = Front::start(server.port(), other.server.clone());
    let whole = Verify::ChainAndName;
    let untrusted = Some("invalid peer certificate");
    type Case<'a> = (&'a Front, Option<PathBuf>, Verify, Option<&'a str>);
    let cases: [Case<'_>; 5] = [
        (&front, named.file("ca.pem"), whole, None),
        (&front, None, whole, untrusted),
        (&front, other.file("ca.pem"), whole, untrusted),
        (
            &elsewhere,
            other.file("ca.pem"),
            whole,
            Some("not valid for name"),
        ),
        (&elsewhere, other.file("ca.pem"), Verify::Chain, None),
    ];
    for (front, certificates, verify, refusal) in cases {
        let url = format!("https://127.0.0.1:{}", front.port);
        let mut settings = settings(url, &server.prefix());
        settings.trust = Trust {
            certificates,
            verify,
            identity: None,
        };
        let store = filled(location(settings));
        let mut rig = rig();
        create(&mut rig, 3);
        follow(&mut rig, &store);
        match refusal {
            None => {
                assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 3);
                recover(&store);
            }
            Some(reason) => {
                fault(&store, reason);
                refused(&store, reason);
                assert_eq!(store.durable(), 0, "the log is kept");
            }
        }
    }
}
