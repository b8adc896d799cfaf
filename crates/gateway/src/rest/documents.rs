//! Documents: their operations go to the stores, not to the broker.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Incoming;
use skep_documents::{Created, DocumentError, Given, Link, Metadata, StoredDocument};
use skep_protocol::Key;

use super::body::Received;
use super::decode::documents as decode;
use super::json::Object;
use super::multipart::{self, Part};
use super::operations::Takes;
use super::parameters::parameter;
use super::problem::Problem;
use super::{RestBody, check_content_type, encode, receive};
use crate::call::FrontEnd;
use crate::check::invalid;

/// Operations on documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    /// Several in one request.
    CreateAll,
    Get,
    Delete,
    Link,
}

impl Operation {
    pub fn takes(self) -> Takes {
        match self {
            Operation::Create | Operation::CreateAll => Takes::Files,
            Operation::Get | Operation::Delete | Operation::Link => Takes::Json,
        }
    }
}

/// Carries out an operation of documents.
pub async fn answer(
    front: &FrontEnd,
    does: Operation,
    id: &str,
    parts: &Parts,
    body: Incoming,
) -> Result<Response<RestBody>, Problem> {
    let query = parts.uri.query();
    let store = parameter(query, "storeId");
    let store = store.as_deref();
    let hash = parameter(query, "contentHash");
    let documents = &front.documents;
    let budget = &front.gate.documents;
    match does {
        Operation::Get if is_to_run(&parts.headers) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "FORBIDDEN",
            "A page wants to run the document as a part of itself. Documents come from users: they are read and saved only.",
        )),
        Operation::Get => Ok(content(documents.get(store, id, hash.as_deref()).await?)),
        Operation::Delete => {
            documents.delete(store, id).await?;
            Ok(encode::status(StatusCode::NO_CONTENT))
        }
        Operation::Link => {
            let Received {
                bytes,
                share: _held,
            } = receive(front, does.takes(), budget, &parts.headers, body).await?;
            let time_to_live = decode::time_to_live(&bytes)?;
            let linked = documents.link(store, id, hash.as_deref(), time_to_live);
            Ok(link(&linked.await?))
        }
        Operation::Create | Operation::CreateAll => {
            let Received {
                bytes,
                share: _held,
            } = receive(front, does.takes(), budget, &parts.headers, body).await?;
            let files = files(front, does, &parts.headers, &bytes)?;
            match does {
                Operation::CreateAll => create_all(front, store, files).await,
                _ => create_one(front, store, parameter(query, "documentId"), files).await,
            }
        }
    }
}

/// Whether a browser asks for it as a script or a style of a page. Whatever the page has been made to load, it must not run in the name of
/// its user what another user has stored.
fn is_to_run(headers: &HeaderMap) -> bool {
    const RUN: [&str; 8] = [
        "script",
        "style",
        "xslt",
        "worker",
        "sharedworker",
        "serviceworker",
        "audioworklet",
        "paintworklet",
    ];
    let wanted = headers.get("sec-fetch-dest");
    wanted.is_some_and(|wanted| RUN.iter().any(|run| wanted == *run))
}

/// A file of a request with its metadata.
struct File {
    name: String,
    given: Given,
    content: Bytes,
}

/// The files of a request. Nothing is stored before all of it was parsed.
fn files(
    front: &FrontEnd,
    does: Operation,
    headers: &HeaderMap,
    bytes: &Bytes,
) -> Result<Vec<File>, Problem> {
    let content_type = check_content_type(headers.get(CONTENT_TYPE), does.takes())?;
    let limit = front.config.multipart.max_parts;
    let (file, metadata) = match does {
        Operation::CreateAll => ("files", "metadataList"),
        _ => ("file", "metadata"),
    };
    let (mut contents, mut listed) = (Vec::new(), Vec::new());
    for part in multipart::read(content_type, bytes, limit)? {
        match part.name.as_str() {
            name if name == file => contents.push(part),
            name if name == metadata => listed.extend(decode::metadata(metadata, &part.content)?),
            other => {
                return refused(format!(
                    "The request has the unknown part '{other}'; its parts are '{file}' and '{metadata}'."
                ));
            }
        }
    }
    if contents.is_empty() {
        return refused(format!(
            "The request has no part '{file}'. Send at least one file."
        ));
    }
    if does == Operation::Create && (contents.len() > 1 || listed.len() > 1) {
        return refused(
            "The request has several files, or the metadata of one file several times. Send several files to /v2/documents/batch.",
        );
    }
    let said_of_all = contents.len() == listed.len();
    if !listed.is_empty() && !said_of_all {
        return refused(format!(
            "The part '{metadata}' describes {} files, but there are {}. Describe every file, in their order, or none.",
            listed.len(),
            contents.len()
        ));
    }
    let mut listed = listed.into_iter();
    contents
        .into_iter()
        .map(|part| one_file(part, listed.next()))
        .collect()
}

fn refused<T>(text: impl Into<String>) -> Result<T, Problem> {
    invalid(text).map_err(Problem::from)
}

const METADATA_HEADER: &str = "X-Document-Metadata";

/// The part's own metadata for its file applies if the request has none.
fn one_file(part: Part, listed: Option<Given>) -> Result<File, Problem> {
    let own = part.header(METADATA_HEADER);
    let mut given = match (listed, own) {
        (Some(_), Some(_)) => {
            return refused(format!(
                "The request has the metadata of a file twice: in the header {METADATA_HEADER} of its part and in a separate part. Send \
                 it once."
            ));
        }
        (Some(given), None) => given,
        (None, Some(own)) => {
            let mut own = decode::metadata(METADATA_HEADER, own.as_bytes())?.into_iter();
            own.next().unwrap_or_default()
        }
        (None, None) => Given::default(),
    };
    let file_name = part
        .file_name
        .as_deref()
        .filter(|name| !name.trim().is_empty());
    given.file_name = given.file_name.or(file_name.map(str::to_string));
    let content_type = part.header("content-type").filter(|text| !text.is_empty());
    given.content_type = given.content_type.or(content_type.map(str::to_string));
    Ok(File {
        name: given.file_name.clone().unwrap_or_default(),
        given,
        content: part.content,
    })
}

async fn create_one(
    front: &FrontEnd,
    store: Option<&str>,
    id: Option<String>,
    files: Vec<File>,
) -> Result<Response<RestBody>, Problem> {
    let mut body = String::new();
    for file in files {
        let create = front
            .documents
            .create(store, id.as_deref(), file.given, file.content);
        reference(&mut body, &create.await?);
    }
    Ok(with_status(StatusCode::CREATED, body))
}

/// Stores each file on its own: the answer lists failed files beside the others.
async fn create_all(
    front: &FrontEnd,
    store: Option<&str>,
    files: Vec<File>,
) -> Result<Response<RestBody>, Problem> {
    let (mut created, mut failed) = (Vec::new(), Vec::new());
    for file in files {
        match front
            .documents
            .create(store, None, file.given, file.content)
            .await
        {
            Ok(document) => created.push(document),
            Err(error) => failed.push((file.name, Problem::from(error))),
        }
    }
    let mut body = String::new();
    Object::write(&mut body, |o| {
        o.array("failedDocuments", &failed, |out, (name, problem)| {
            Object::write(out, |o| {
                o.text("fileName", name);
                o.number("status", i64::from(problem.status.as_u16()));
                o.text("title", problem.title);
                o.text("detail", &problem.detail);
            });
        });
        o.array("createdDocuments", &created, reference);
    });
    let status = if failed.is_empty() {
        StatusCode::CREATED
    } else {
        StatusCode::MULTI_STATUS
    };
    Ok(with_status(status, body))
}

fn with_status(status: StatusCode, body: String) -> Response<RestBody> {
    let mut response = encode::json(body);
    *response.status_mut() = status;
    response
}

/// The reference to a document, as a process variable holds it.
fn reference(out: &mut String, created: &Created) {
    let known = &created.metadata;
    Object::write(out, |o| {
        o.text("camunda.document.type", "camunda");
        o.text("storeId", &created.store);
        o.text("documentId", &created.id);
        o.optional_text("contentHash", known.content_hash.as_deref());
        o.object("metadata", |o| metadata(o, known));
    });
}

fn metadata(o: &mut Object, known: &Metadata) {
    o.text("contentType", &known.content_type);
    o.text("fileName", &known.file_name);
    let expires_at = known.expires_at.map(time);
    o.optional_text("expiresAt", expires_at.as_deref());
    o.number("size", i64::try_from(known.size).unwrap_or(i64::MAX));
    o.optional_text(
        "processDefinitionId",
        known.process_definition_id.as_deref(),
    );
    o.optional_key("processInstanceKey", known.process_instance_key.map(Key));
    o.raw("customProperties", known.custom_properties.get());
}

fn time(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn link(link: &Link) -> Response<RestBody> {
    let mut body = String::new();
    Object::write(&mut body, |o| {
        o.text("url", &link.url);
        o.text("expiresAt", &time(link.expires_at));
    });
    with_status(StatusCode::CREATED, body)
}

/// The content with its own type; browsers save it and do not run it.
fn content(found: StoredDocument) -> Response<RestBody> {
    let Metadata {
        content_type,
        file_name,
        ..
    } = &found.metadata;
    let content_type = HeaderValue::try_from(content_type);
    let disposition = skep_documents::attachment(file_name);
    let mut response = Response::new(RestBody::Document(found.content));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type.unwrap_or(ANY_TYPE));
    headers.insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFFING);
    if let Ok(disposition) = HeaderValue::try_from(disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}

const ANY_TYPE: HeaderValue = HeaderValue::from_static(skep_documents::metadata::ANY_TYPE);
const NO_SNIFFING: HeaderValue = HeaderValue::from_static("nosniff");

impl From<DocumentError> for Problem {
    fn from(error: DocumentError) -> Problem {
        let (status, title) = match &error {
            DocumentError::Invalid(_) => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            DocumentError::NotFound(_) => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            DocumentError::Exists(_) => (StatusCode::CONFLICT, "ALREADY_EXISTS"),
            DocumentError::NotSupported(_) => (StatusCode::FORBIDDEN, "FORBIDDEN"),
            DocumentError::Exhausted(_) => (StatusCode::SERVICE_UNAVAILABLE, "RESOURCE_EXHAUSTED"),
            DocumentError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
            DocumentError::Broken(_) => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
        };
        Problem::new(status, title, error.to_string())
    }
}

/// A link that names no time is valid for an hour.
pub const TIME_TO_LIVE: Duration = Duration::from_secs(3600);
