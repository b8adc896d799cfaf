//! Requests about what users of the web interface keep.

use http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use skep_protocol::command::{Command, KeptCommand};
use skep_protocol::document::in_one_form;
use skep_protocol::value::KeptKind;
use skep_protocol::{Failure, Key};

use super::fields::Text;
use super::{Decoded, optional, parse_key, required};
use crate::check::invalid;
use crate::door::Login;
use crate::rest::encode::Echo;
use crate::rest::operations::Call;
use crate::rest::operations::path::{FromPath as _, Title};
use crate::rest::parameters::parameter;
use crate::rest::problem::Problem;

/// Bytes of an object's body.
const MAX_BODY: usize = 256 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Put<'a> {
    #[serde(borrow)]
    title: Option<Text<'a>>,
    #[serde(default)]
    shared: bool,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// The body of an operation that takes none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub fn list(kind: KeptKind, call: &Call<'_>) -> Result<Decoded, Problem> {
    command(KeptCommand::ListKept { kind }, call)
}

pub fn get(kind: KeptKind, Title(name): Title, call: &Call<'_>) -> Result<Decoded, Problem> {
    let get = KeptCommand::GetKept {
        kind,
        name: name.into(),
        owner: parameter(call.parts.uri.query(), "owner").map(Into::into),
    };
    command(get, call)
}

pub fn put(kind: KeptKind, Title(name): Title, call: &Call<'_>) -> Result<Decoded, Problem> {
    let put: Put = required(call.text)?;
    let body = in_one_form(put.body.get());
    if !body.starts_with('{') {
        invalid("The field 'body' is not a JSON object. Send an object.")?;
    }
    if body.len() > MAX_BODY {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "PAYLOAD_TOO_LARGE",
            format!(
                "The field 'body' has {} bytes, and {MAX_BODY} are allowed. Keep less in it.",
                body.len()
            ),
        ));
    }
    let title = put.title.map(Text::owned).unwrap_or_default();
    if !title.is_empty() {
        Title::read("title", &title)?;
    }
    let put = KeptCommand::PutKept {
        kind,
        name: name.into(),
        title: title.into(),
        shared: put.shared,
        body: body.into(),
        revision: revision(&call.parts.headers, Replaces::OrNothing)?,
    };
    command(put, call)
}

pub fn delete(kind: KeptKind, Title(name): Title, call: &Call<'_>) -> Result<Decoded, Problem> {
    let Nothing {} = optional(call.text)?;
    let delete = KeptCommand::DeleteKept {
        kind,
        name: name.into(),
        revision: revision(&call.parts.headers, Replaces::Something)?,
    };
    command(delete, call)
}

fn command(command: KeptCommand, call: &Call<'_>) -> Result<Decoded, Problem> {
    if call.front.door.login() == Login::Unprotected {
        return Err(Problem::new(
            StatusCode::NOT_IMPLEMENTED,
            "NOT_IMPLEMENTED",
            "Objects are kept for users, and this server has no login: nothing was done. Keep them at the client, or protect the API with \
             camunda.security.authentication.method.",
        ));
    }
    Ok(Decoded::Command {
        request: Command::Kept(command).into(),
        timeout: call.front.config.request_timeout,
        waits: false,
        echo: Echo::Kept,
    })
}

/// What a request may replace.
#[derive(Clone, Copy, PartialEq)]
enum Replaces {
    Something,
    OrNothing,
}

/// The revision that the request replaces; [`Key::NONE`] if it makes a new object.
fn revision(headers: &HeaderMap, replaces: Replaces) -> Result<Key, Problem> {
    let text = |name: HeaderName| {
        let value = headers.get(&name)?;
        Some(
            value
                .to_str()
                .unwrap_or("what is no text")
                .trim()
                .to_string(),
        )
    };
    match (text(IF_MATCH), text(IF_NONE_MATCH), replaces) {
        (Some(tag), None, _) => revision_of(&tag).map_err(Problem::from),
        (None, Some(any), Replaces::OrNothing) if any == "*" => Ok(Key::NONE),
        (None, None, _) => Err(Problem::new(
            StatusCode::PRECONDITION_REQUIRED,
            "PRECONDITION_REQUIRED",
            match replaces {
                Replaces::OrNothing => {
                    "The request does not say what it replaces. Send the header 'If-None-Match: *' for a new object, or 'If-Match' with \
                     the ETag of the revision that you have read."
                }
                Replaces::Something => {
                    "The request does not say what it deletes. Send the header 'If-Match' with the ETag of the revision that you have read."
                }
            },
        )),
        _ => invalid(
            "The headers 'If-Match' and 'If-None-Match' do not fit the request. Send 'If-Match' with one ETag, or 'If-None-Match: *' for a new \
             object.",
        )
        .map_err(|failure: Failure| failure.into()),
    }
}

fn revision_of(tag: &str) -> Result<Key, Failure> {
    let quoted = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    let key = quoted.and_then(parse_key).filter(|key| !key.is_none());
    key.map_or_else(
        || {
            invalid(format!(
                "The header 'If-Match' has {tag}, which is no revision. Send one ETag as an answer had it, in quotes."
            ))
        },
        Ok,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(headers: &[(HeaderName, &'static str)], replaces: Replaces) -> Result<Key, u16> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(name, http::HeaderValue::from_static(value));
        }
        revision(&all, replaces).map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn a_change_names_what_it_replaces() {
        use Replaces::{OrNothing, Something};
        for replaces in [OrNothing, Something] {
            assert_eq!(asked(&[(IF_MATCH, "\"77\"")], replaces), Ok(Key(77)));
            assert_eq!(asked(&[], replaces), Err(428));
            for wrong in [
                "77",
                "*",
                "W/\"77\"",
                "\"77\", \"78\"",
                "\"\"",
                "\"-1\"",
                "\"x\"",
            ] {
                assert_eq!(asked(&[(IF_MATCH, wrong)], replaces), Err(400), "{wrong}");
            }
            let both = [(IF_MATCH, "\"77\""), (IF_NONE_MATCH, "*")];
            assert_eq!(asked(&both, replaces), Err(400));
            assert_eq!(asked(&[(IF_NONE_MATCH, "\"77\"")], replaces), Err(400));
        }
        assert_eq!(asked(&[(IF_NONE_MATCH, "*")], OrNothing), Ok(Key::NONE));
        assert_eq!(asked(&[(IF_NONE_MATCH, "*")], Something), Err(400));
    }
}
