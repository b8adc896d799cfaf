//! An answer of HTTP/1.1 within the bytes that have arrived so far.

/// What arrived is no HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
    /// Number of bytes that it took.
    pub(super) length: usize,
    /// Whether the server lets another request follow on the connection.
    pub(super) stays: bool,
}

/// The answer at the beginning of these bytes; `None` if more of it is to come. One without a length ends with its connection, and one to
/// `HEAD` has no body.
pub(super) fn read(
    arrived: &[u8],
    is_to_head: bool,
    has_ended: bool,
) -> Result<Option<Answer>, Malformed> {
    let Some(end) = position(arrived, b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let (head, rest) = arrived.split_at_checked(end).ok_or(Malformed)?;
    let head = Head::read(head)?;
    let found = if is_to_head || matches!(head.status, 204 | 304) {
        Some((Vec::new(), 0))
    } else if head.is_chunked {
        unchunked(rest)?
    } else if let Some(length) = head.length {
        rest.get(..length).map(|body| (body.to_vec(), length))
    } else {
        has_ended.then(|| (rest.to_vec(), rest.len()))
    };
    let Some((body, length)) = found else {
        return Ok(None);
    };
    Ok(Some(Answer {
        status: head.status,
        body: String::from_utf8(body).map_err(|_| Malformed)?,
        length: end + length,
        stays: head.stays && !has_ended,
    }))
}

struct Head {
    status: u16,
    is_chunked: bool,
    length: Option<usize>,
    stays: bool,
}

impl Head {
    fn read(head: &[u8]) -> Result<Self, Malformed> {
        let head = std::str::from_utf8(head).map_err(|_| Malformed)?;
        let (first, fields) = head.split_once("\r\n").ok_or(Malformed)?;
        let mut words = first.split(' ');
        let version = words.next().filter(|word| word.starts_with("HTTP/1."));
        let version = version.ok_or(Malformed)?;
        let status = words.next().and_then(|status| status.parse().ok());
        let field = |name: &str| {
            let mut all = fields.split("\r\n").filter_map(|line| line.split_once(':'));
            let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim())
        };
        let length = match field("content-length") {
            None => None,
            Some(length) => Some(length.parse().map_err(|_| Malformed)?),
        };
        let closes = field("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
        let coding = field("transfer-encoding");
        Ok(Self {
            status: status.ok_or(Malformed)?,
            is_chunked: coding.is_some_and(|it| it.eq_ignore_ascii_case("chunked")),
            length,
            stays: version == "HTTP/1.1" && !closes,
        })
    }
}

/// The body of these chunks, and the bytes that they take; `None` if more of them are to come.
fn unchunked(arrived: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Malformed> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = arrived.get(at..).unwrap_or_default();
        let Some(line) = position(rest, b"\r\n") else {
            return Ok(None);
        };
        let size = rest.get(..line).unwrap_or_default();
        let size = std::str::from_utf8(size).map_err(|_| Malformed)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| Malformed)?;
        let begin = at + line + 2;
        if size == 0 {
            // The empty line may follow trailers.
            let trailers = arrived.get(begin - 2..).unwrap_or_default();
            let end = position(trailers, b"\r\n\r\n").map(|at| begin + 2 + at);
            return Ok(end.map(|end| (body, end)));
        }
        let end = begin.checked_add(size).ok_or(Malformed)?;
        let Some(chunk) = arrived.get(begin..end) else {
            return Ok(None);
        };
        body.extend_from_slice(chunk);
        at = end + 2;
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str, length: usize, stays: bool) -> Answer {
        Answer {
            status: 200,
            body: body.into(),
            length,
            stays,
        }
    }

    /// Reads the text however little of it has arrived, and what follows it.
    fn arrives(text: &str, body: &str) {
        for part in 0..text.len() {
            let early = read(&text.as_bytes()[..part], false, false);
            assert_eq!(early, Ok(None), "{part} bytes of {text:?}");
        }
        let more = format!("{text}HTTP/1.1 500 X\r\n");
        let whole = read(more.as_bytes(), false, false);
        assert_eq!(whole, Ok(Some(answer(body, text.len(), true))));
    }

    #[test]
    fn an_answer_ends_with_its_length_or_its_last_chunk() {
        arrives("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none", "one");
        arrives("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "");
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        arrives(
            &format!("{chunked}3\r\none\r\na;x=y\r\n, two\r\n, 3\r\n0\r\n\r\n"),
            "one, two\r\n, 3",
        );
        arrives(&format!("{chunked}1\r\na\r\n0\r\nx: y\r\n\r\n"), "a");
        let none = b"HTTP/1.1 204 No Content\r\n\r\n";
        let read = read(none, false, false).unwrap().unwrap();
        assert_eq!((read.status, read.length), (204, none.len()));
    }

    #[test]
    fn an_answer_without_a_length_ends_with_its_connection() {
        let text = b"HTTP/1.0 200 OK\r\n\r\nall of it";
        assert_eq!(read(text, false, false), Ok(None));
        let whole = answer("all of it", text.len(), false);
        assert_eq!(read(text, false, true), Ok(Some(whole)));
        // One with a length that is not reached is not whole.
        let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nall";
        assert_eq!(read(cut, false, true), Ok(None));
        let to_head = read(cut, true, false).unwrap().unwrap();
        assert_eq!((&*to_head.body, to_head.length), ("", cut.len() - 3));
    }

    #[test]
    fn a_connection_stays_unless_the_server_closes_it() {
        for (head, stays) in [
            ("HTTP/1.1 200 OK\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: Close\r\n", false),
            ("HTTP/1.0 200 OK\r\n", false),
        ] {
            let text = format!("{head}content-length: 0\r\n\r\n");
            let read = read(text.as_bytes(), false, false).unwrap().unwrap();
            assert_eq!(read.stays, stays, "{head}");
        }
    }

    #[test]
    fn what_is_no_http_is_refused() {
        for text in [
            "SSH-2.0\r\n\r\n",
            "HTTP/1.1 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nmany\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        ] {
            assert_eq!(
                read(text.as_bytes(), false, false),
                Err(Malformed),
                "{text}"
            );
        }
    }
}
