//! Searches for newly created instances: how long until a search finds them.
//!
//! One at a time, so that searching is little work beside the load: the newest instance is
//! requested by its key, without waiting for pending writes, again and again until it is found.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use skep_client::Authorization;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream},
    net::TcpStream,
};

use super::slice::Shared;

/// Pause between two requests for one instance: this limits the resolution of the figures.
const PAUSE: Duration = Duration::from_millis(2);
/// Pause between two instances.
const REST: Duration = Duration::from_millis(20);
/// Maximum size of an answer's body that is read.
const MAX_BODY: usize = 1 << 20;

/// An instance whose creation was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Created {
    pub(super) key: i64,
    pub(super) at: Instant,
}

/// The server to search at, and the credentials of the caller.
struct Address {
    host: String,
    authorization: Option<Authorization>,
}

/// Searches until the slice ends.
pub(super) async fn run(shared: Arc<Shared>) {
    let args = &shared.plan.args;
    let address = Address {
        host: args.rest(),
        authorization: args.authorization.clone(),
    };
    let mut newest = shared.newest.subscribe();
    let mut connection = None;
    let mut own = false;
    loop {
        if newest.changed().await.is_err() {
            return;
        }
        let Some(created) = *newest.borrow_and_update() else {
            continue;
        };
        own = shared.plan.habits.own_writes && !own;
        if own {
            let asked = ask(
                &mut connection,
                &address,
                created.key,
                Consistency::OwnWrites,
            )
            .await;
            match asked {
                Ok(status) => shared.collector.ledger().looked_for_own(status == 200),
                Err(error) => {
                    connection = None;
                    shared.collector.ledger().seek_failed(created.at, &error);
                }
            }
            tokio::time::sleep(REST).await;
            newest.mark_unchanged();
            continue;
        }
        match seek(&shared, &address, &mut connection, created).await {
            Ok(true) => shared.collector.ledger().found(created.at, Instant::now()),
            Ok(false) => shared.collector.ledger().not_found(created.at),
            Err(error) => {
                connection = None;
                shared.collector.ledger().seek_failed(created.at, &error);
            }
        }
        tokio::time::sleep(REST).await;
        // The next instance is searched for from its creation on.
        newest.mark_unchanged();
    }
}

/// Returns false if the instance was not found within its time limit.
async fn seek(
    shared: &Shared,
    address: &Address,
    connection: &mut Option<BufStream<TcpStream>>,
    created: Created,
) -> io::Result<bool> {
    let limit = shared.plan.args.instance_timeout;
    while created.at.elapsed() < limit {
        match ask(connection, address, created.key, Consistency::Eventual).await? {
            200 => return Ok(true),
            404 => {}
            status => {
                return Err(io::Error::other(format!(
                    "a search for an instance was answered with {status}"
                )));
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(false)
}

/// The writes that a search waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consistency {
    /// None.
    Eventual,
    /// All acknowledged writes of the caller, the default of searches.
    OwnWrites,
}

/// Sends one request, connecting if necessary; returns the status of the answer.
async fn ask(
    connection: &mut Option<BufStream<TcpStream>>,
    address: &Address,
    key: i64,
    consistency: Consistency,
) -> io::Result<u16> {
    let connection = match connection {
        Some(open) => open,
        None => connection.insert(BufStream::new(TcpStream::connect(&address.host).await?)),
    };
    let waits = match consistency {
        Consistency::Eventual => "skep-consistency: eventual\r\n",
        Consistency::OwnWrites => "",
    };
    let host = &address.host;
    let authorization = match &address.authorization {
        None => String::new(),
        Some(shown) => {
            let value = shown.header().map_err(io::Error::other)?;
            format!("authorization: {}\r\n", value.to_str().unwrap_or_default())
        }
    };
    let request = format!(
        "GET /v2/process-instances/{key} HTTP/1.1\r\nHost: {host}\r\n{authorization}{waits}\r\n"
    );
    connection.write_all(request.as_bytes()).await?;
    connection.flush().await?;
    let malformed = || io::Error::other("the answer to a search is no HTTP");
    let mut status = None;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        match status {
            None => {
                let code = line.split(' ').nth(1).and_then(|code| code.parse().ok());
                status = Some(code.ok_or_else(malformed)?);
            }
            Some(_) if line.is_empty() => break,
            Some(_) => {
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().map_err(|_| malformed())?;
                }
            }
        }
    }
    if length > MAX_BODY {
        return Err(malformed());
    }
    connection.read_exact(&mut vec![0; length]).await?;
    status.ok_or_else(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that gives these answers to requests over one connection.
    async fn serve(answers: &'static [&'static str]) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufStream::new(stream);
            for answer in answers {
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    stream.read_line(&mut line).await.unwrap();
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
        });
        address
    }

    #[tokio::test]
    async fn answers_follow_each_other_on_one_connection() {
        let address = serve(&[
            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx: y\r\n\r\n{}",
            "something else\r\n\r\n",
        ])
        .await;
        let address = Address {
            host: address,
            authorization: None,
        };
        let mut connection = None;
        let (eventual, own) = (Consistency::Eventual, Consistency::OwnWrites);
        let mut answer = async |consistency| ask(&mut connection, &address, 1, consistency).await;
        assert_eq!(answer(eventual).await.unwrap(), 404);
        assert_eq!(answer(own).await.unwrap(), 200);
        assert!(answer(own).await.is_err());
    }
}
