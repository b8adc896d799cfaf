//! A target for another exporter of the nodes: a server that takes every record and keeps none, in the place of a search server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What every request is answered.
const TAKEN: &str = r#"{"acknowledged":true,"errors":false,"items":[]}"#;
/// Maximum size of a body; exporters send 10 MB at most.
const MAX_BODY: u64 = 64 << 20;
/// Maximum size of a line of a head.
const MAX_LINE: u64 = 16 << 10;
/// Maximum number of lines of a head.
const MAX_LINES: usize = 100;
/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 64;

/// It ends when dropped, and its connections with the nodes.
#[derive(Debug)]
pub(super) struct Sink {
    port: u16,
    over: Arc<AtomicBool>,
}

impl Sink {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sink = Self {
            port: listener.local_addr()?.port(),
            over: Arc::default(),
        };
        let over = Arc::clone(&sink.over);
        std::thread::spawn(move || {
            let open = Arc::new(AtomicUsize::new(0));
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                if open.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
                    continue;
                }
                let open = Arc::clone(&open);
                open.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || {
                    // The node has closed it, or sends what no exporter sends.
                    let _ = serve(stream);
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(sink)
    }

    /// Settings with which nodes export to it, under the name `sink`.
    pub(super) fn settings(&self) -> [(String, String); 3] {
        [
            (
                "class-name",
                "io.camunda.zeebe.exporter.opensearch.OpensearchExporter".to_string(),
            ),
            ("args.url", format!("http://127.0.0.1:{}", self.port)),
            ("args.bulk.delay", "1".to_string()),
        ]
        .map(|(name, value)| (format!("camunda.data.exporters.sink.{name}"), value))
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(length) = head(&mut stream)? {
        if length > MAX_BODY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let body = io::copy(&mut stream.by_ref().take(length), &mut io::sink())?;
        if body < length {
            return Ok(());
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        let answer = format!("{head} {}\r\n\r\n{TAKEN}", TAKEN.len());
        stream.get_mut().write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// Reads the head of a request. Returns the length of its body; `None` if there are no more requests.
fn head(stream: &mut BufReader<TcpStream>) -> io::Result<Option<u64>> {
    let mut length = 0;
    for _ in 0..MAX_LINES {
        let mut line = String::new();
        stream.by_ref().take(MAX_LINE).read_line(&mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(Some(length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            let number = value.trim().parse();
            length = number.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_without_an_end_ends_the_connection() {
        let sink = Sink::start().unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, sink.port)).unwrap();
        let head = "a: b\r\n".repeat(MAX_LINES);
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        assert_eq!(stream.read_to_string(&mut answer).unwrap(), 0);
    }

    #[test]
    fn every_request_of_a_connection_is_taken() {
        let sink = Sink::start().unwrap();
        let (_, url) = &sink.settings()[1];
        let address = url.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).unwrap();
        let mut stream = BufReader::new(stream);
        for (head, body) in [
            (
                "PUT /_index_template/a HTTP/1.1\r\nContent-Length: 2\r\n",
                "{}",
            ),
            (
                "POST /_bulk HTTP/1.1\r\ncontent-length: 300000\r\n",
                &"x".repeat(300_000),
            ),
            ("GET / HTTP/1.1\r\n", ""),
        ] {
            let request = format!("{head}host: a\r\n\r\n{body}");
            stream.get_mut().write_all(request.as_bytes()).unwrap();
            let length = super::head(&mut stream).unwrap().unwrap();
            let mut answer = vec![0; usize::try_from(length).unwrap()];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, TAKEN.as_bytes());
        }
    }
}
