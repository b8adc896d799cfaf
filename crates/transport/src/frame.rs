//! Frames: `length u32 LE | bytes`. The first frame from each side is its greeting, after a magic number.

use std::io::{Error, ErrorKind};

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Starts every connection, with the version of the greeting's encoding.
const MAGIC: &[u8; 8] = b"SKEPNET\x01";
/// Maximum bytes of a greeting.
const MAX_GREETING: u32 = 64 << 10;
/// Maximum bytes of one message: more than the largest entry of a log.
pub(crate) const MAX_FRAME: u32 = 257 << 20;

pub(crate) async fn write_first<W: AsyncWrite + Unpin>(
    to: &mut W,
    value: &impl Serialize,
) -> Result<(), Error> {
    let body = postcard::to_stdvec(value).map_err(Error::other)?;
    let mut out = Vec::with_capacity(MAGIC.len() + 4 + body.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&body);
    to.write_all(&out).await?;
    to.flush().await
}

pub(crate) async fn read_first<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> Result<T, Error> {
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic).await?;
    if &magic != MAGIC {
        let text =
            "it does not speak the protocol between Skep nodes; is it the port of something else?";
        return Err(Error::new(ErrorKind::InvalidData, text));
    }
    let body = read(from, MAX_GREETING).await?;
    let body = body.ok_or(ErrorKind::UnexpectedEof)?;
    postcard::from_bytes(&body).map_err(|e| {
        Error::new(
            ErrorKind::InvalidData,
            format!("its greeting cannot be read: {e}"),
        )
    })
}

/// Reads the next frame; `None` at the end.
pub(crate) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    limit: u32,
) -> Result<Option<Bytes>, Error> {
    let mut length = [0; 4];
    if let Err(error) = from.read_exact(&mut length).await {
        let ended = error.kind() == ErrorKind::UnexpectedEof;
        return if ended { Ok(None) } else { Err(error) };
    }
    let length = u32::from_le_bytes(length);
    if length > limit {
        let text = format!("a frame of {length} bytes is larger than the limit of {limit}");
        return Err(Error::new(ErrorKind::InvalidData, text));
    }
    // Grows as bytes arrive: a peer that only claims to send much takes no memory.
    let mut body = BytesMut::with_capacity((length as usize).min(1 << 20));
    let mut rest = from.take(u64::from(length));
    while rest.limit() > 0 {
        if rest.read_buf(&mut body).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(body.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::greeting::{Opening, Reply};

    #[tokio::test(flavor = "current_thread")]
    async fn frames_are_read_whole_or_refused() {
        let mut bytes = vec![];
        bytes.extend_from_slice(&3u32.to_le_bytes());
        bytes.extend_from_slice(b"abc");
        bytes.extend_from_slice(&0u32.to_le_bytes());
        let mut from = bytes.as_slice();
        assert_eq!(read(&mut from, 3).await.unwrap().unwrap(), "abc");
        assert_eq!(read(&mut from, 3).await.unwrap().unwrap(), "");
        assert!(read(&mut from, 3).await.unwrap().is_none());
        assert!(read(&mut bytes.as_slice(), 2).await.is_err());
        let mut torn = bytes.get(..5).unwrap();
        assert!(read(&mut torn, 3).await.is_err());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn other_protocols_are_recognized_by_their_first_bytes() {
        let mut sent = vec![];
        write_first(&mut sent, &"hello").await.unwrap();
        let read: String = read_first(&mut sent.as_slice()).await.unwrap();
        assert_eq!(read, "hello");
        let http = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        let error = read_first::<String>(&mut http.as_slice())
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("another") || error.to_string().contains("something else")
        );
    }

    /// First messages from nodes of each version, and the answers to them. `greetings-1.txt` is from commit bc7885cd. A greeting is read
    /// before anything is known about its version, so its encoding only ever grows, at its end.
    #[tokio::test(flavor = "current_thread")]
    async fn greetings_of_each_version_are_read_and_written_without_change() {
        let files = [
            (1, include_str!("../tests/golden/greetings-1.txt")),
            (2, include_str!("../tests/golden/greetings-2.txt")),
        ];
        for (version, text) in files {
            for line in text.lines() {
                let (side, bytes) = line.split_once(' ').unwrap();
                let bytes = unhex(bytes);
                let mut written = vec![];
                if side == "open" {
                    let opening: Opening = read_first(&mut bytes.as_slice()).await.unwrap();
                    let greeting = &opening.greeting;
                    assert_eq!((greeting.version, greeting.oldest_version), (version, 1));
                    write_first(&mut written, &opening).await.unwrap();
                } else {
                    let reply: Reply = read_first(&mut bytes.as_slice()).await.unwrap();
                    write_first(&mut written, &reply).await.unwrap();
                }
                assert_eq!(written, bytes);
            }
        }
    }

    fn unhex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text
            .chars()
            .map(|c| c.to_digit(16).unwrap() as u8)
            .collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()
    }
}
