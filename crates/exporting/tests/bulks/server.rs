//! A search server controlled by a test: it stores documents, and fails in the ways of real servers.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Outcome of a bulk request; by default its documents are stored.
#[derive(Clone, Debug)]
pub enum Fate {
    /// Refused as a whole.
    Refused(u16),
    /// Every second document is refused with this status; the others are kept.
    Half(u16),
    /// Stored, with this answer.
    Says(&'static str),
    /// Stored, and the connection ends without an answer.
    HangsUp,
    /// Stored, without an answer until the test is over.
    Silent,
    /// Stored, and the answer comes in pieces, after a while.
    Slow,
    /// Redirected to this address.
    Redirected(String),
}

#[derive(Default)]
pub struct Kept {
    pub fates: VecDeque<Fate>,
    /// Maximum size of requests in bytes.
    pub max_bytes: Option<usize>,
    /// Documents by id: number of arrivals, index and content.
    pub documents: BTreeMap<String, (usize, String, Value)>,
    /// Method and path of all requests except bulk requests.
    pub requests: Vec<String>,
    pub bulks: usize,
    pub largest: usize,
    pub authorization: Option<String>,
}

pub struct Server {
    pub kept: Arc<Mutex<Kept>>,
    pub port: u16,
    over: Arc<AtomicBool>,
}

impl Server {
    pub fn start(tls: Option<Arc<ServerConfig>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let kept = Arc::new(Mutex::new(Kept::default()));
        let over = Arc::new(AtomicBool::new(false));
        let (shared, ends) = (kept.clone(), over.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, ends, tls) = (shared.clone(), ends.clone(), tls.clone());
                let Ok(stream) = stream else { return };
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::spawn(move || match tls {
                    None => serve(stream, &shared, &ends),
                    Some(tls) => {
                        let secured = ServerConnection::new(tls).unwrap();
                        serve(StreamOwned::new(secured, stream), &shared, &ends);
                    }
                });
            }
        });
        Server { kept, port, over }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn fates(&self, fates: &[Fate]) {
        self.kept.lock().fates.extend(fates.iter().cloned());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

struct Request {
    method: String,
    path: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

fn read(stream: &mut BufReader<impl Read>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = Some(value.to_string()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Request {
        method,
        path,
        authorization,
        body,
    })
}

fn serve(stream: impl Read + Write, kept: &Mutex<Kept>, over: &AtomicBool) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream) {
        let answer = answer(&request, &mut kept.lock());
        let out = stream.get_mut();
        match answer {
            Answer::Of(status, head, body) => {
                let length = body.len();
                let text = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{head}\r\n");
                if out.write_all((text + &body).as_bytes()).is_err() {
                    return;
                }
            }
            Answer::Pieces(body) => {
                let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                for piece in (text + &body).as_bytes().chunks(7) {
                    std::thread::sleep(Duration::from_millis(2));
                    if out.write_all(piece).and_then(|()| out.flush()).is_err() {
                        return;
                    }
                }
            }
            Answer::Never => {
                while !over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                return;
            }
            Answer::End => return,
        }
        if out.flush().is_err() {
            return;
        }
    }
}

enum Answer {
    Of(u16, String, String),
    Pieces(String),
    Never,
    End,
}

fn answer(request: &Request, kept: &mut Kept) -> Answer {
    kept.authorization.clone_from(&request.authorization);
    let plain = |status, body: &str| Answer::Of(status, String::new(), body.to_string());
    if !request.path.starts_with("/_bulk") {
        kept.requests
            .push(format!("{} {}", request.method, request.path));
        return plain(200, r#"{"acknowledged":true}"#);
    }
    kept.bulks += 1;
    kept.largest = kept.largest.max(request.body.len());
    if kept.max_bytes.is_some_and(|max| request.body.len() > max) {
        return plain(413, r#"{"error":"too large"}"#);
    }
    let fate = kept.fates.pop_front();
    if let Some(Fate::Refused(status)) = fate {
        return plain(status, r#"{"error":"not now"}"#);
    }
    if let Some(Fate::Redirected(to)) = fate {
        return Answer::Of(307, format!("location: {to}\r\n"), String::new());
    }
    let half = match fate {
        Some(Fate::Half(status)) => Some(status),
        _ => None,
    };
    let body = keep(kept, &request.body, half);
    match fate {
        None | Some(Fate::Half(_) | Fate::Refused(_) | Fate::Redirected(_)) => plain(200, &body),
        Some(Fate::Says(text)) => plain(200, text),
        Some(Fate::HangsUp) => Answer::End,
        Some(Fate::Silent) => Answer::Never,
        Some(Fate::Slow) => Answer::Pieces(body),
    }
}

/// Stores all documents, or every second one; returns the answer to the request.
fn keep(kept: &mut Kept, body: &[u8], half: Option<u16>) -> String {
    let mut lines = body.split(|byte| *byte == b'\n').filter(|l| !l.is_empty());
    let (mut items, mut n) = (Vec::new(), 0);
    while let (Some(action), Some(document)) = (lines.next(), lines.next()) {
        let action: Value = serde_json::from_slice(action).unwrap();
        let (id, index) = (&action["index"]["_id"], &action["index"]["_index"]);
        n += 1;
        let refused = half.filter(|_| n % 2 == 0);
        if refused.is_none() {
            let place = kept.documents.entry(id.as_str().unwrap().to_string());
            let place = place.or_default();
            place.0 += 1;
            place.1 = index.as_str().unwrap().to_string();
            place.2 = serde_json::from_slice(document).unwrap();
        }
        let item = match refused {
            None => json!({"status": 201}),
            Some(status) => {
                json!({"_id": id, "_index": index, "status": status, "error": {"type": "busy"}})
            }
        };
        items.push(json!({ "index": item }));
    }
    json!({"errors": half.is_some() && n > 1, "items": items}).to_string()
}
