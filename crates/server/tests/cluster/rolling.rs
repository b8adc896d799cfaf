//! A rolling restart under clients with persistent connections: each node stops and comes back in turn, every call is answered, and none is
//! refused or left in doubt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use skep_client::CreateInstance;

use super::{Nodes, Server, eventually, ledger};

const CREATE: &str = r#"{"processDefinitionId":"one-task","variables":{"orderId":"A-17"}}"#;

/// Answers that clients should not have received.
#[derive(Default)]
struct Seen {
    answered: AtomicU64,
    trouble: std::sync::Mutex<Vec<String>>,
}

impl Seen {
    fn trouble(&self, what: String) {
        self.trouble.lock().unwrap().push(what);
    }
}

/// An HTTP/1.1 client like the official ones: it keeps its connection, checks before sending whether it was closed, and tries the next node
/// when it cannot connect.
struct Caller {
    nodes: Vec<u16>,
    at: usize,
    connection: Option<TcpStream>,
}

impl Caller {
    /// A connection not known to be closed.
    async fn connection(&mut self) -> TcpStream {
        if let Some(kept) = self.connection.take()
            && is_open(&kept)
        {
            return kept;
        }
        loop {
            let port = self.nodes[self.at % self.nodes.len()];
            if let Ok(made) = TcpStream::connect(("127.0.0.1", port)).await {
                return made;
            }
            self.at += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn call(&mut self, seen: &Seen) {
        let mut connection = self.connection().await;
        let request = format!(
            "POST /v2/process-instances HTTP/1.1\r\nHost: skep\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{CREATE}",
            CREATE.len()
        );
        let answer = match connection.write_all(request.as_bytes()).await {
            Ok(()) => read_answer(&mut connection).await,
            Err(error) => Err(error.to_string()),
        };
        let node = self.at % self.nodes.len();
        match answer {
            Ok((200, closes, _)) => {
                seen.answered.fetch_add(1, Ordering::Relaxed);
                if closes {
                    self.at += 1
                } else {
                    self.connection = Some(connection)
                }
            }
            Ok((status, _, body)) => seen.trouble(format!("node {node}: {status} {body}")),
            Err(error) => seen.trouble(format!("node {node}, in doubt: {error}")),
        }
    }
}

/// Whether the connection is open and no unsolicited data has arrived.
fn is_open(connection: &TcpStream) -> bool {
    let nothing = connection.try_read(&mut [0]);
    nothing.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Status, whether the connection is to be closed, and the body.
async fn read_answer(connection: &mut TcpStream) -> Result<(u16, bool, String), String> {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 4096];
        let read = connection.read(&mut more).await;
        match read.map_err(|error| error.to_string())? {
            0 => return Err("the connection was closed without an answer".to_string()),
            count => bytes.extend_from_slice(&more[..count]),
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
        if body.len() < length.unwrap_or_default() {
            continue;
        }
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let closes = head.contains("connection: close");
        return Ok((status.unwrap_or_default(), closes, body.to_string()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_rolling_restart_refuses_nothing_and_leaves_nothing_in_doubt() {
    let nodes = Nodes::new(3);
    let mut servers: Vec<Option<Server>> = nodes.all().await.into_iter().map(Some).collect();
    ledger::deploy_one_task(&servers[0].as_ref().unwrap().client()).await;
    let client = servers[1].as_ref().unwrap().client();
    eventually("every partition has the process", async || {
        let request = CreateInstance::latest("one-task");
        let mut created = true;
        for _ in 0..12 {
            created &= client.create_instance(&request).await.is_ok();
        }
        created
    })
    .await;
    let ports: Arc<std::sync::Mutex<Vec<u16>>> = Arc::default();
    let rest = |servers: &[Option<Server>]| {
        let ports = servers.iter().flatten().map(|server| server.rest);
        ports.collect::<Vec<u16>>()
    };
    *ports.lock().unwrap() = rest(&servers);
    let (seen, stop) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
    let callers: Vec<_> = (0..6)
        .map(|at| {
            let (seen, stop, ports) = (seen.clone(), stop.clone(), ports.clone());
            tokio::spawn(async move {
                let mut caller = Caller {
                    nodes: Vec::new(),
                    at,
                    connection: None,
                };
                while !stop.load(Ordering::Relaxed) {
                    // Addresses of the nodes, as from a name server.
                    caller.nodes.clone_from(&ports.lock().unwrap());
                    caller.call(&seen).await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
        })
        .collect();
    for node in 0..servers.len() {
        let before = seen.answered.load(Ordering::Relaxed);
        let mut server = servers[node].take().unwrap();
        let code = tokio::task::spawn_blocking(move || server.terminate());
        assert_eq!(code.await.unwrap(), Some(0));
        servers[node] = Some(nodes.start(node).await.unwrap());
        *ports.lock().unwrap() = rest(&servers);
        eventually("calls are answered again", async || {
            seen.answered.load(Ordering::Relaxed) > before + 100
        })
        .await;
    }
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    let (answered, trouble) = (&seen.answered, seen.trouble.lock().unwrap());
    println!("{} calls answered", answered.load(Ordering::Relaxed));
    assert!(trouble.is_empty(), "{}: {trouble:#?}", trouble.len());
}
