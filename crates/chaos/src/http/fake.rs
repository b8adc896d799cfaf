//! A server for tests: every request gets 200 with a body that the test makes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Takes so many connections, and lets nobody open another one. `answer` gets the first line of each request and its body. Returns the
/// address.
pub(crate) fn serve(
    connections: usize,
    answer: impl Fn(&str, &[u8]) -> String + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || attend(stream.unwrap(), &*answer));
        }
    });
    address
}

/// Answers the requests of a connection until its client closes it.
fn attend(stream: TcpStream, answer: &impl Fn(&str, &[u8]) -> String) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim_end().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = answer(first.trim_end(), &body);
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        let mut stream = reader.get_ref();
        stream.write_all((head + &body).as_bytes())?;
    }
}
