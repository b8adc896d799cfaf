//! The real binary in a temporary directory.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use skep_client::{Client, ClientConfig};

/// A running `skep serve`. Dropping it kills it.
pub struct Server {
    child: Child,
    pub rest: u16,
    pub grpc: u16,
    pub management: u16,
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

impl Server {
    /// Starts the server and waits until its partitions lead.
    pub async fn start(data: &Path, arguments: &[&str]) -> Server {
        let (rest, grpc, management) = (free_port(), free_port(), free_port());
        let child = Command::new(env!("CARGO_BIN_EXE_skep"))
            .arg("serve")
            .arg("--data")
            .arg(data)
            .args(["--address", "127.0.0.1"])
            .args(["--rest-port", &rest.to_string()])
            .args(["--grpc-port", &grpc.to_string()])
            .args(["--management-port", &management.to_string()])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .env("RUST_LOG", "error")
            .spawn()
            .expect("the binary starts");
        let mut server = Server {
            child,
            rest,
            grpc,
            management,
        };
        server.wait_until_ready().await;
        server
    }

    pub fn client(&self) -> Client {
        Client::grpc(ClientConfig::new(format!("http://127.0.0.1:{}", self.grpc)))
            .expect("a client")
    }

    #[allow(dead_code)] // Not every test file talks REST.
    pub fn rest_client(&self) -> Client {
        Client::rest(ClientConfig::new(format!("http://127.0.0.1:{}", self.rest)))
            .expect("a client")
    }

    async fn wait_until_ready(&mut self) {
        let started = Instant::now();
        let client = self.client();
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                panic!("the server ended with {status} instead of starting");
            }
            let leads = |topology: &skep_client::Topology| {
                let partitions = topology.brokers.iter().flat_map(|b| &b.partitions);
                let mut roles = partitions.map(|p| p.role.to_lowercase());
                roles.all(|role| role == "leader")
            };
            match client.topology().await {
                Ok(topology) if leads(&topology) => return,
                _ if started.elapsed() > Duration::from_secs(60) => {
                    panic!("the server is not ready after a minute")
                }
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM, and the exit code.
    #[allow(dead_code)] // Crash tests never stop politely.
    pub fn terminate(&mut self) -> Option<i32> {
        let _ = Command::new("kill").arg(self.id().to_string()).status();
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
