//! A connection that stays open between requests: where it leads through others, as through `kubectl port-forward`, opening one takes
//! seconds.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use skep_tls::BlockingSocket;

use super::answer::{self, Answer};
use super::{Rest, authority, good};

/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 64 << 20;
/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// An answer that has not come after this time never will: the connection is opened again.
const LATE: Duration = Duration::from_secs(10);

/// Requests to one API, one after another over the same connection. They have to be repeatable: the server may have closed the connection
/// meanwhile, and then a request is sent once more over another one.
#[derive(Debug)]
pub struct Kept {
    rest: Rest,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    stream: BlockingSocket,
    /// The bytes of an answer so far.
    arrived: Vec<u8>,
    owed: Option<Owed>,
}

/// A request whose answer has not come yet.
#[derive(Debug)]
struct Owed {
    since: Instant,
    request: Vec<u8>,
    is_head: bool,
}

impl Kept {
    /// Opens no connection yet.
    pub fn to(rest: Rest) -> Self {
        Self { rest, open: None }
    }

    /// Status and body of the answer. One that comes after the limit is taken for that of the next request, if that is the same.
    ///
    /// # Errors
    /// The API is not reached or does not answer within the limit.
    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
        limit: Duration,
    ) -> io::Result<(u16, String)> {
        let end = Instant::now() + limit;
        let request = self.rest.request(method, path, body)?;
        let is_head = method.eq_ignore_ascii_case("HEAD");
        let is_reused = self.open.is_some();
        let mut answered = self.exchange((&request, is_head), end);
        if is_reused && answered.as_ref().is_err_and(|why| !is_late(why)) {
            answered = self.exchange((&request, is_head), end);
        }
        let address = &self.rest.address;
        let answer = answered
            .map_err(|why| io::Error::new(why.kind(), format!("{address}{path}: {why}")))?;
        Ok((answer.status, answer.body))
    }

    /// The body of a successful answer, as JSON.
    ///
    /// # Errors
    /// As of [`Self::ask`], and answers that are not successful or no JSON.
    pub fn json(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
        limit: Duration,
    ) -> io::Result<serde_json::Value> {
        let answer = self.ask(method, path, body, limit)?;
        good(&self.rest.address, path, answer)
    }

    fn exchange(&mut self, request: (&[u8], bool), end: Instant) -> io::Result<Answer> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open::to(&self.rest, end)?,
        };
        let answered = open.exchange(request, end);
        let goes_on = match &answered {
            Ok(answer) => answer.stays,
            Err(why) => is_late(why) && open.waits(),
        };
        if goes_on {
            self.open = Some(open);
        }
        answered
    }
}

impl Open {
    fn to(rest: &Rest, end: Instant) -> io::Result<Self> {
        let (host_and_port, is_encrypted) = authority(&rest.address);
        let mut places = host_and_port.to_socket_addrs()?;
        let place = places.next().ok_or(io::ErrorKind::NotFound)?;
        let stream = TcpStream::connect_timeout(&place, left(end)?)?;
        let tls = rest.tls.as_ref().filter(|_| is_encrypted);
        let stream = match (tls, host_and_port.rsplit_once(':')) {
            (Some(tls), Some((host, _))) => {
                stream.set_read_timeout(Some(left(end)?))?;
                stream.set_write_timeout(Some(left(end)?))?;
                tls.connect_blocking(host, stream)?
            }
            _ if is_encrypted => {
                return Err(io::Error::other("no certificates are trusted"));
            }
            _ => stream.into(),
        };
        Ok(Self {
            stream,
            arrived: Vec::new(),
            owed: None,
        })
    }

    /// Whether an answer may still come.
    fn waits(&self) -> bool {
        let owed = self.owed.as_ref();
        owed.is_some_and(|owed| owed.since.elapsed() < LATE)
    }

    fn exchange(&mut self, (request, is_head): (&[u8], bool), end: Instant) -> io::Result<Answer> {
        if let Some(owed) = &self.owed {
            let (is_same, of_head) = (owed.request == request, owed.is_head);
            let late = self.receive(of_head, end)?;
            if is_same {
                return Ok(late);
            }
            if !late.stays {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
        self.stream.tcp().set_write_timeout(Some(left(end)?))?;
        self.stream.write_all(request)?;
        self.stream.flush()?;
        self.owed = Some(Owed {
            since: Instant::now(),
            request: request.to_vec(),
            is_head,
        });
        self.receive(is_head, end)
    }

    /// The answer to the request that is owed one.
    fn receive(&mut self, is_head: bool, end: Instant) -> io::Result<Answer> {
        let mut piece = vec![0; PIECE];
        let mut has_ended = false;
        loop {
            let no_http = |_| io::Error::other("the answer is no HTTP");
            let read = answer::read(&self.arrived, is_head, has_ended).map_err(no_http)?;
            if let Some(answer) = read {
                self.owed = None;
                self.arrived.drain(..answer.length);
                return Ok(answer);
            }
            if has_ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if self.arrived.len() > MAX_ANSWER {
                let text = format!("the answer has more than {} MiB", MAX_ANSWER >> 20);
                return Err(io::Error::other(text));
            }
            self.stream.tcp().set_read_timeout(Some(left(end)?))?;
            match self.stream.read(&mut piece) {
                Ok(0) => has_ended = true,
                Ok(count) => {
                    let new = piece.get(..count).unwrap_or_default();
                    self.arrived.extend_from_slice(new);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
    }
}

/// The time that is left.
fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// Whether an answer has not come in time.
fn is_late(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Instead of an answer: the server closes the connection.
    const CLOSES: &str = "";

    /// A server that notes the connection and the first line of each request, and answers each with what the test sends.
    struct Server {
        address: String,
        asked: Receiver<(usize, String)>,
        answers: Sender<String>,
    }

    /// One request, whose body is empty.
    fn request(stream: &mut TcpStream) -> Option<String> {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(b"\r\n\r\n") {
            if stream.read(&mut byte).ok()? == 0 {
                return None;
            }
            text.push(byte[0]);
        }
        let text = String::from_utf8(text).unwrap();
        text.lines().next().map(String::from)
    }

    impl Server {
        /// Each connection takes so many requests, and is then closed without a word.
        fn start(requests: usize) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let (note, asked) = channel();
            let (answers, next) = channel::<String>();
            std::thread::spawn(move || {
                for (number, stream) in listener.incoming().enumerate() {
                    let mut stream = stream.unwrap();
                    for _ in 0..requests {
                        let Some(line) = request(&mut stream) else {
                            break;
                        };
                        let _ = note.send((number, line));
                        let Ok(answer) = next.recv() else {
                            return;
                        };
                        if answer == CLOSES {
                            break;
                        }
                        let length = answer.len();
                        let _ = write!(
                            stream,
                            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{answer}"
                        );
                    }
                }
            });
            Self {
                address,
                asked,
                answers,
            }
        }

        fn kept(&self) -> Kept {
            Kept::to(Rest::open(&self.address))
        }

        fn answers(&self, text: &str) {
            self.answers.send(text.into()).unwrap();
        }

        /// The connection and the first line of the next request.
        fn seen(&self) -> (usize, String) {
            self.asked.recv_timeout(LIMIT).unwrap()
        }
    }

    fn asks(kept: &mut Kept, path: &str, limit: Duration) -> io::Result<String> {
        kept.ask("GET", path, "", limit).map(|(_, body)| body)
    }

    #[test]
    fn requests_follow_each_other_over_one_connection() {
        let server = Server::start(9);
        let mut kept = server.kept();
        for path in ["/a", "/b"] {
            server.answers(path);
            assert_eq!(asks(&mut kept, path, LIMIT).unwrap(), path);
            assert_eq!(server.seen(), (0, format!("GET {path} HTTP/1.1")));
        }
    }

    #[test]
    fn a_connection_that_was_closed_meanwhile_is_opened_again() {
        let server = Server::start(1);
        let mut kept = server.kept();
        for (number, path) in ["/a", "/b", "/c"].into_iter().enumerate() {
            server.answers(path);
            assert_eq!(asks(&mut kept, path, LIMIT).unwrap(), path);
            assert_eq!(server.seen(), (number, format!("GET {path} HTTP/1.1")));
        }
    }

    /// Asks with a short limit until the request has been sent, and is owed an answer.
    fn owes(server: &Server, kept: &mut Kept, path: &str) {
        loop {
            let late = asks(kept, path, Duration::from_millis(20)).unwrap_err();
            assert!(is_late(&late), "{late}");
            if let Ok((_, line)) = server.asked.try_recv() {
                assert_eq!(line, format!("GET {path} HTTP/1.1"));
                return;
            }
        }
    }

    #[test]
    fn an_answer_that_comes_late_is_that_of_the_same_request_and_of_no_other() {
        let server = Server::start(9);
        let mut kept = server.kept();
        owes(&server, &mut kept, "/a");
        server.answers("first");
        assert_eq!(asks(&mut kept, "/a", LIMIT).unwrap(), "first");
        assert!(server.asked.try_recv().is_err(), "it is not sent again");
        owes(&server, &mut kept, "/a");
        server.answers("second");
        server.answers("other");
        assert_eq!(asks(&mut kept, "/b", LIMIT).unwrap(), "other");
        assert_eq!(server.seen().1, "GET /b HTTP/1.1");
    }

    #[test]
    fn a_request_over_a_connection_of_its_own_is_sent_once() {
        let server = Server::start(9);
        server.answers(CLOSES);
        let asked = Rest::open(&server.address).ask("POST", "/a", "", LIMIT);
        assert!(asked.is_err());
        assert_eq!(server.seen().1, "POST /a HTTP/1.1");
        assert!(server.asked.try_recv().is_err());
    }
}
