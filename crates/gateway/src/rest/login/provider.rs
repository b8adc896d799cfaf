//! Logging in and out at an identity provider: a browser goes there from `/oauth2/authorization/{provider}`, and comes back to
//! `/sso-callback`.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, HOST, HeaderValue, LOCATION};
use http::request::Parts;
use http::{HeaderName, Method, Response, StatusCode};

use super::super::RestBody;
use super::super::problem::Problem;
use super::{Jar, base, empty, is_over_tls, log_out};
use crate::call::FrontEnd;
use crate::door::bearer::Bearer;
use crate::door::browsers::{self, ATTEMPT_TIME, Arrival, Departure};
use crate::door::session::cookie;
use crate::door::{Head, Refused};

const BEGIN: &str = "/oauth2/authorization/";
const BACK: &str = "/sso-callback";
/// Where a browser comes back to that has logged out at the provider.
const OUT: &str = "/post-logout";
/// Where a browser that has logged out goes, to do so at the provider as well.
const LOGOUT_URI: HeaderName = HeaderName::from_static("skep-logout-uri");

/// The answer, if the request belongs to a login.
pub async fn answer(
    front: &FrontEnd,
    bearer: &Bearer,
    head: &Head<'_>,
    parts: &Parts,
) -> Option<Result<Response<RestBody>, Problem>> {
    let path = parts.uri.path();
    match (&parts.method, path) {
        (&Method::GET, "/oauth2/providers") => Some(Ok(ways(bearer))),
        (&Method::GET, BACK) => Some(Ok(back(front, bearer, parts).await)),
        (&Method::GET, OUT) => Some(Ok(redirect("ui/logged-out"))),
        (&Method::POST, "/logout") => Some(leave(front, bearer, head, parts).await),
        (&Method::GET, _) => {
            let provider = path.strip_prefix(BEGIN)?;
            Some(begin(front, bearer, provider, parts))
        }
        _ => None,
    }
}

/// The login options, for the page where people choose one.
fn ways(bearer: &Bearer) -> Response<RestBody> {
    let text = serde_json::to_string(&bearer.providers().ways()).unwrap_or_default();
    let mut response = Response::new(RestBody::from(Bytes::from(text)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn begin(
    front: &FrontEnd,
    bearer: &Bearer,
    provider: &str,
    parts: &Parts,
) -> Result<Response<RestBody>, Problem> {
    let here = format!("{}{BACK}", here(front, parts));
    let to = parameter(parts, "to");
    let departure = browsers::depart(bearer.providers(), provider, &here, to.as_deref());
    let Departure { to, cookie, state } = departure.map_err(|refused| match refused {
        // No caller is refused here: there is no such place.
        Refused::Token(why) => Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", why),
        other => other.into(),
    })?;
    let mut response = redirect(&to);
    let name = kept(front, &state);
    let jar = Jar::of(front, &parts.headers);
    jar.keep(&mut response, (&name, &cookie), ATTEMPT_TIME);
    Ok(response)
}

/// A failed login ends on the login page, which shows the failure.
async fn back(front: &FrontEnd, bearer: &Bearer, parts: &Parts) -> Response<RestBody> {
    let state = parameter(parts, "state").unwrap_or_default();
    let name = kept(front, &state);
    let jar = Jar::of(front, &parts.headers);
    let mut response = match arrival(front, bearer, &name, &state, parts).await {
        Ok(Arrival { to, cookie }) => {
            let mut response = redirect(&to);
            jar.give(&mut response, &cookie);
            response
        }
        Err(failed) => {
            front.door.failed_logins.note(&failed.1);
            // Relative, so that a proxy's path prefix stays.
            redirect(&format!("ui/login?failed={}", failed.0))
        }
    };
    jar.forget(&mut response, &name);
    response
}

/// A failure: the text for the page, and the text for the log.
type Failed = (&'static str, String);

async fn arrival(
    front: &FrontEnd,
    bearer: &Bearer,
    name: &str,
    state: &str,
    parts: &Parts,
) -> Result<Arrival, Failed> {
    if let Some(error) = parameter(parts, "error") {
        let error: String = error.chars().take(100).collect();
        return Err(("denied", format!("the provider says: {error:?}")));
    }
    let code = parameter(parts, "code").unwrap_or_default();
    let expired = || ("expired", "the cookie of the login is missing".to_string());
    let kept = cookie(parts.headers.get_all(COOKIE), name).ok_or_else(expired)?;
    let directory = front
        .directory()
        .map_err(|refused| ("failed", refused.text()))?;
    let arrival = bearer.arrive(&kept, (state, &code), &directory).await;
    arrival.map_err(|refused| match refused {
        Refused::NoSession(_) => (
            "expired",
            "it took too long, or began in another browser".to_string(),
        ),
        refused => ("failed", refused.text()),
    })
}

/// Ends the session on all nodes; the browser learns where to end it at the provider.
async fn leave(
    front: &FrontEnd,
    bearer: &Bearer,
    head: &Head<'_>,
    parts: &Parts,
) -> Result<Response<RestBody>, Problem> {
    let Some(shown) = front.door.shown_session(&parts.headers) else {
        return Ok(empty());
    };
    // A page of another site must not log anybody out.
    let provider = bearer.leave(&shown, head).await?;
    let mut response = log_out(&Jar::of(front, &parts.headers));
    let back = format!("{}{OUT}", here(front, parts));
    let there = provider.and_then(|provider| bearer.providers().end(&provider, &back));
    if let Some(value) = there.and_then(|there| HeaderValue::try_from(there).ok()) {
        response.headers_mut().insert(LOGOUT_URI, value);
    }
    Ok(response)
}

/// The cookie of one login: several may be in progress in one browser. The prefix is that of the session's cookie.
fn kept(front: &FrontEnd, state: &str) -> String {
    let prefix = if is_over_tls(front) { "__Host-" } else { "" };
    let short = state.chars().filter(|c| c.is_ascii_alphanumeric()).take(12);
    format!("{prefix}skep-login-{}", short.collect::<String>())
}

/// This server's address, as the browser sees it, with the path that a proxy adds.
fn here(front: &FrontEnd, parts: &Parts) -> String {
    let scheme = if is_over_tls(front) { "https" } else { "http" };
    let named = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = parts.uri.authority().map(|it| it.as_str());
    let authority = authority.or(named).unwrap_or_default();
    format!("{scheme}://{authority}{}", base(front, &parts.headers))
}

fn parameter(parts: &Parts, wanted: &str) -> Option<String> {
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let mut pairs = form_urlencoded::parse(query);
    pairs.find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
}

fn redirect(to: &str) -> Response<RestBody> {
    let mut response = empty();
    *response.status_mut() = StatusCode::FOUND;
    if let Ok(value) = HeaderValue::try_from(to) {
        response.headers_mut().insert(LOCATION, value);
    }
    response
}
