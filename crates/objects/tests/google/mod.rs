//! The used part of Google's XML API, in memory: there is no server of it that could be started here. It has one bucket, `backups`, and
//! records its requests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

const BUCKET: &str = "/backups";
const CONDITION: &str = "x-goog-if-generation-match";

#[derive(Default)]
struct Kept {
    objects: BTreeMap<String, Bytes>,
    requests: Vec<String>,
}

pub struct Google {
    address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
}

impl Google {
    pub async fn start() -> Google {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let all = kept.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = all.clone();
                let service = service_fn(move |request| answer(kept.clone(), request));
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(served);
            }
        });
        Google { address, kept }
    }

    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Method and path of each request, with its condition.
    pub fn requests(&self) -> Vec<String> {
        self.kept.lock().unwrap().requests.clone()
    }
}

fn reply(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        // Clients need to know which version of the content this is.
        .header("etag", "\"1\"")
        .header("x-goog-generation", "1")
        .header("last-modified", "Fri, 27 Nov 2026 12:00:00 GMT")
        .body(Full::new(text.into()))
        .unwrap()
}

fn error(status: StatusCode, code: &str) -> Response<Full<Bytes>> {
    reply(status, format!("<Error><Code>{code}</Code></Error>"))
}

async fn answer(
    kept: Arc<Mutex<Kept>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let content = body.collect().await.unwrap().to_bytes();
    let condition = head.headers.get(CONDITION);
    let condition = condition.map(|value| value.to_str().unwrap().to_string());
    let path = head.uri.path();
    let mut kept = kept.lock().unwrap();
    let shown = condition.as_ref().map(|it| format!(" {CONDITION}: {it}"));
    let shown = format!("{} {path}{}", head.method, shown.unwrap_or_default());
    kept.requests.push(shown);
    let Some(name) = path.strip_prefix(BUCKET) else {
        return Ok(error(StatusCode::NOT_FOUND, "NoSuchBucket"));
    };
    let name = name.trim_start_matches('/').replace("%2F", "/");
    if head.method == Method::GET && name.is_empty() {
        let query = head.uri.query().unwrap_or_default();
        return Ok(reply(StatusCode::OK, list(&kept.objects, query)));
    }
    let is_there = kept.objects.contains_key(&name);
    Ok(match head.method {
        Method::PUT if is_there && condition.as_deref() == Some("0") => {
            error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed")
        }
        Method::PUT => {
            kept.objects.insert(name, content);
            reply(StatusCode::OK, "")
        }
        Method::GET if is_there => reply(StatusCode::OK, kept.objects[&name].clone()),
        Method::DELETE if is_there => {
            kept.objects.remove(&name);
            reply(StatusCode::NO_CONTENT, "")
        }
        _ => error(StatusCode::NOT_FOUND, "NoSuchKey"),
    })
}

/// `GET /BUCKET?list-type=2&prefix=…&delimiter=…&start-after=…`.
fn list(objects: &BTreeMap<String, Bytes>, query: &str) -> String {
    let of = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.find(|(key, _)| *key == name).map(|(_, value)| value);
        value.unwrap_or_default().replace("%2F", "/")
    };
    let (prefix, delimiter, after) = (of("prefix"), of("delimiter"), of("start-after"));
    let (mut contents, mut common) = (String::new(), std::collections::BTreeSet::new());
    for (name, content) in objects.iter().filter(|(name, _)| **name > after) {
        let Some(rest) = name.strip_prefix(&prefix) else {
            continue;
        };
        match rest.split_once('/').filter(|_| !delimiter.is_empty()) {
            Some((directory, _)) => {
                common.insert(format!("{prefix}{directory}/"));
            }
            None => contents.push_str(&format!(
                "<Contents><Key>{name}</Key><LastModified>2026-11-27T12:00:00.000Z</LastModified><ETag>\"1\"</ETag><Size>{}</Size></Contents>",
                content.len()
            )),
        }
    }
    let common = common.iter();
    let common = common.map(|it| format!("<CommonPrefixes><Prefix>{it}</Prefix></CommonPrefixes>"));
    let common: String = common.collect();
    format!("<ListBucketResult>{contents}{common}</ListBucketResult>")
}
