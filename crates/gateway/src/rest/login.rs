//! Logging in and out with a browser: `POST /login` with a form, and `POST /logout`. They are no operations of the API. How browsers log in
//! at an identity provider stands in [`provider`].

mod provider;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, SET_COOKIE, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderName, Method, Response, StatusCode};
use hyper::body::Incoming;
use skep_protocol::origin::Claims;

use super::RestBody;
use super::body::{self, Received};
use super::problem::Problem;
use crate::call::FrontEnd;
use crate::door::secret::Secret;
use crate::door::session::{self, CSRF, Cookie, LONGEST};
use crate::door::{Head, Login, Refused, Scheme};

/// Bytes of a form: the longest name and password, in which three may stand for each byte.
const MAX_FORM: usize = 16 << 10;

const CSRF_HEADER: HeaderName = HeaderName::from_static(CSRF);

/// The path of cookies without a proxy.
const ROOT: &str = "/";

/// The answer, if the request is a login or logout and authentication is on.
pub async fn answer(
    front: &FrontEnd,
    head: &Head<'_>,
    parts: &Parts,
    body: Incoming,
) -> Option<Result<Response<RestBody>, Problem>> {
    if let Some(bearer) = front.door.bearer() {
        return provider::answer(front, bearer, head, parts).await;
    }
    if front.door.login() != Login::Basic || parts.method != Method::POST {
        return None;
    }
    match parts.uri.path() {
        "/login" => Some(log_in(front, head, body).await),
        "/logout" => Some(match front.is_own(head) {
            Ok(()) => Ok(log_out(&Jar::of(front, head.headers))),
            Err(refused) => Err(refused.into()),
        }),
        _ => None,
    }
}

async fn log_in(
    front: &FrontEnd,
    head: &Head<'_>,
    mut body: Incoming,
) -> Result<Response<RestBody>, Problem> {
    // A page of another site must not log anybody in.
    front.is_own(head)?;
    let Received { bytes, .. } =
        body::read(&mut body, Bytes::new(), MAX_FORM, front, &front.gate.budget).await?;
    let (name, password) = form(&bytes);
    let directory = front
        .directory()
        .inspect_err(|refused| front.refused(refused))?;
    let door = &front.door;
    let claims = door
        .log_in(&name, password, head.visitor.peer, &directory)
        .await;
    match claims.inspect_err(|refused| front.refused(refused))? {
        Claims::User(user) => {
            let cookie = session::begin(&user.id, &directory)?;
            let mut response = empty();
            Jar::of(front, head.headers).give(&mut response, &cookie);
            Ok(response)
        }
        Claims::Anonymous | Claims::Client(_) | Claims::Internal => Err(Refused::Wrong.into()),
    }
}

/// The cookies that a browser keeps of this server.
struct Jar<'r> {
    /// Name of the session's cookie.
    session: &'static str,
    /// Browsers send them with requests below this path only, so that no other application behind the same proxy gets them.
    path: &'r str,
    is_secure: bool,
}

impl<'r> Jar<'r> {
    fn of(front: &'r FrontEnd, headers: &'r HeaderMap) -> Jar<'r> {
        let has_prefix = is_over_tls(front);
        Jar {
            session: front.door.cookie,
            path: match base(front, headers) {
                under if !under.is_empty() && !has_prefix => under,
                // Browsers refuse a cookie whose name begins with `__Host-` and that has another path.
                _ => ROOT,
            },
            is_secure: has_prefix || came_over_tls(headers),
        }
    }

    fn forget(&self, response: &mut Response<RestBody>, name: &str) {
        self.keep(response, (name, ""), 0);
    }

    /// A cookie that no page can read.
    fn keep(&self, response: &mut Response<RestBody>, (name, value): (&str, &str), seconds: u64) {
        self.set(response, &format!("{name}={value}"), seconds, "; HttpOnly");
    }

    /// Begins or renews a session.
    fn give(&self, response: &mut Response<RestBody>, cookie: &Cookie) {
        self.keep(response, (self.session, &cookie.value), LONGEST);
        // Pages read this one, to send it back.
        let csrf = format!("X-CSRF-TOKEN={}", cookie.csrf);
        self.set(response, &csrf, LONGEST, "");
        if let Ok(value) = HeaderValue::try_from(&*cookie.csrf) {
            response.headers_mut().insert(CSRF_HEADER, value);
        }
    }

    fn set(&self, response: &mut Response<RestBody>, pair: &str, seconds: u64, more: &str) {
        let path = self.path;
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text = format!("{pair}; Path={path}; Max-Age={seconds}{more}; SameSite=Lax{secure}");
        if let Ok(value) = HeaderValue::try_from(text) {
            response.headers_mut().append(SET_COOKIE, value);
        }
    }
}

/// Whether a proxy says that it took the request over TLS. Who says so without TLS gets a cookie that the browser does not keep.
fn came_over_tls(headers: &HeaderMap) -> bool {
    let named = headers.get("x-forwarded-proto");
    let named = named.and_then(|schemes| schemes.to_str().ok());
    // Several proxies make a list, which begins with the one that the browser talks to.
    let first = named.and_then(|schemes| schemes.split(',').next());
    first.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
}

/// The path that a proxy adds for browsers; empty without one.
fn base<'r>(front: &'r FrontEnd, headers: &'r HeaderMap) -> &'r str {
    let pages = front.config.hooks.pages.as_ref();
    pages.map_or("", |pages| pages.base(headers))
}

/// The browser forgets the session.
fn log_out(jar: &Jar<'_>) -> Response<RestBody> {
    let mut response = empty();
    jar.forget(&mut response, jar.session);
    if jar.path != ROOT {
        // Earlier versions kept it there whatever the proxy's path, and it would still be valid.
        Jar { path: ROOT, ..*jar }.forget(&mut response, jar.session);
    }
    response
}

/// Adds to the answer the cookie that records the use of the session, if it is due.
pub fn renew(front: &FrontEnd, parts: &Parts, response: &mut Response<RestBody>) {
    if parts.headers.contains_key(AUTHORIZATION) || front.door.login() == Login::Unprotected {
        return;
    }
    let Some(shown) = front.door.shown_session(&parts.headers) else {
        return;
    };
    if let Some(cookie) = front.door.renewed(&shown, &front.broker.directory()) {
        Jar::of(front, &parts.headers).give(response, &cookie);
    }
}

/// The page that sends the request has a login of its own: without the header, the browser opens no login dialog over it. No
/// browser does so for tokens.
pub fn leave_to_the_page(parts: &Parts, response: &mut Response<RestBody>) {
    let mode = parts.headers.get("sec-fetch-mode");
    let asked = response.headers().get(WWW_AUTHENTICATE);
    let opens = asked.is_some_and(|asked| asked == Scheme::Basic.challenge());
    if opens && mode.is_some_and(|mode| mode != "navigate") {
        response.headers_mut().remove(WWW_AUTHENTICATE);
    }
}

fn is_over_tls(front: &FrontEnd) -> bool {
    front.config.tls.rest.is_some()
}

fn empty() -> Response<RestBody> {
    let mut response = Response::new(RestBody::from(Bytes::new()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// The fields `username` and `password` of a form; empty where they are missing.
fn form(bytes: &[u8]) -> (String, Secret) {
    let (mut name, mut password) = (String::new(), String::new());
    for (field, value) in form_urlencoded::parse(bytes) {
        match &*field {
            "username" => name = value.into_owned(),
            "password" => password = value.into_owned(),
            _ => {}
        }
    }
    (name, Secret::new(password))
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        let (text, asks_for) = (refused.text(), refused.asks_for());
        match refused {
            Refused::Forged => Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", text),
            Refused::Cannot(failure) => failure.into(),
            _ => Problem {
                asks_for,
                // The reference writes the title like this.
                ..Problem::new(StatusCode::UNAUTHORIZED, "Unauthorized", text)
            },
        }
    }
}
