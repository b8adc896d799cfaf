//! Sessions of browsers: a cookie that says who has logged in, and when, under a seal that requires the user's password hash.
//!
//! Nothing about a session is stored anywhere. Every node that knows the users can verify a cookie, a lost node loses no
//! session, and a new password or the deletion of the user ends all of the user's sessions. The price: a logout only makes
//! that browser forget the session; a copy of the cookie elsewhere stays valid until it expires ([`IDLE`], [`LONGEST`]).

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use http::header::GetAll;
use serde::{Deserialize, Serialize};
use skep_identity::Directory;
use skep_protocol::Failure;
use skep_protocol::origin::Claims;

use super::basic::claims_of;
use super::{Head, Refused, Scheme, is_safe};

/// Names of the API.
const COOKIE: &str = "camunda-session";
const COOKIE_OVER_TLS: &str = "__Host-camunda-session";
pub const CSRF: &str = "x-csrf-token";

/// The name of the cookie. Browsers take one with the prefix over TLS only, and from this host only: neither a page over plain HTTP nor
/// another host of the domain can give a browser a session that somebody else began.
pub fn name(over_tls: bool) -> &'static str {
    if over_tls { COOKIE_OVER_TLS } else { COOKIE }
}

/// Seconds without a request after which a session is over.
pub const IDLE: u64 = 30 * 60;
/// Seconds after which it is over in any case.
pub const LONGEST: u64 = 12 * 60 * 60;
/// Seconds after which a cookie is replaced by one with the current time of use.
const RENEW: u64 = 5 * 60;

/// Maximum bytes of a cookie.
const MAX_COOKIE: usize = 2 << 10;

/// The content of a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    user: String,
    times: Times,
}

/// When a session was begun and used, and its unique nonce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Seconds since 1970.
    began: u64,
    /// When it was used last, to a precision of [`RENEW`].
    used: u64,
    /// Chosen at the login: no two sessions have the same cookie.
    nonce: String,
}

impl Times {
    /// For a new session. `None`: the system has no random numbers.
    pub fn begin() -> Option<Times> {
        let mut nonce = [0; 16];
        aws_lc_rs::rand::fill(&mut nonce).ok()?;
        let now = now();
        Some(Times {
            began: now,
            used: now,
            nonce: URL_SAFE_NO_PAD.encode(nonce),
        })
    }

    pub fn are_over(&self) -> bool {
        let now = now();
        now.saturating_sub(self.used) >= IDLE || now.saturating_sub(self.began) >= LONGEST
    }

    /// For the same session, used now; `None`: another cookie is not due yet.
    pub fn renewed(&self) -> Option<Times> {
        let used = now();
        let is_due = used.saturating_sub(self.used) >= RENEW;
        is_due.then(|| Times {
            used,
            ..self.clone()
        })
    }

    /// A text that stays the same for the whole session, however often its cookie is renewed.
    pub fn named(&self) -> String {
        format!("csrf.{}.{}", self.began, self.nonce)
    }
}

/// A session of a user who has just logged in.
///
/// # Errors
/// The system has no random numbers.
pub fn begin(name: &str, directory: &Directory) -> Result<Cookie, Failure> {
    let times = Times::begin();
    let no_chance = || Failure::Internal("The operating system provides no random numbers.".into());
    let said = Said {
        user: name.to_string(),
        times: times.ok_or_else(no_chance)?,
    };
    sealed(&said, directory)
        .ok_or_else(|| Failure::Unavailable("The user no longer exists. Log in again.".into()))
}

/// The tokens that a browser receives. Its `Debug` form shows neither.
#[derive(Clone, PartialEq, Eq)]
pub struct Cookie {
    /// The value of [`COOKIE`].
    pub value: String,
    /// The token to send in [`CSRF`] with every change.
    pub csrf: String,
}

impl std::fmt::Debug for Cookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cookie")
    }
}

/// The value of a cookie.
pub fn cookie(cookies: GetAll<'_, HeaderValue>, wanted: &str) -> Option<String> {
    let texts = cookies.iter().filter_map(|header| header.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';'));
    pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == wanted).then(|| value.to_string())
    })
}

/// The owner of the session.
///
/// # Errors
/// It has ended, never existed, or its own page did not send the request.
pub fn check(cookie: &str, head: &Head<'_>, directory: &Directory) -> Result<Claims, Refused> {
    let (said, key) = opened(cookie, directory).ok_or(Refused::NoSession(Scheme::Basic))?;
    if has_shown(head, &csrf_of(&key, &said)) {
        Ok(claims_of(&said.user))
    } else {
        Err(Refused::Forged)
    }
}

/// Whether a request that changes something shows the token of its session.
pub(super) fn has_shown(head: &Head<'_>, expected: &str) -> bool {
    let shown = head.headers.get(CSRF).and_then(|token| token.to_str().ok());
    let is_same = |shown: &str| {
        aws_lc_rs::constant_time::verify_slices_are_equal(shown.as_bytes(), expected.as_bytes())
            .is_ok()
    };
    is_safe(head.method) || shown.is_some_and(is_same)
}

/// The cookie that replaces this one, if it is due.
pub fn renewed(cookie: &str, directory: &Directory) -> Option<Cookie> {
    let (said, _) = opened(cookie, directory)?;
    let times = said.times.renewed()?;
    sealed(&Said { times, ..said }, directory)
}

/// The content of a valid cookie, with the key of its user.
fn opened(cookie: &str, directory: &Directory) -> Option<(Said, hmac::Key)> {
    if cookie.len() > MAX_COOKIE {
        return None;
    }
    let (text, seal) = cookie.rsplit_once('.')?;
    let said = read(text)?;
    let seal = URL_SAFE_NO_PAD.decode(seal).ok()?;
    let (key, is_known) = key_for(&said.user, directory);
    let is_sealed = hmac::verify(&key, text.as_bytes(), &seal).is_ok();
    (is_sealed && is_known && !said.times.are_over()).then_some((said, key))
}

fn sealed(said: &Said, directory: &Directory) -> Option<Cookie> {
    let (key, is_known) = key_for(&said.user, directory);
    if !is_known {
        return None;
    }
    let text = write(said);
    let seal = URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes()));
    Some(Cookie {
        value: format!("{text}.{seal}"),
        csrf: csrf_of(&key, said),
    })
}

/// As long as a hash. Everybody knows it, so what it seals opens nothing.
const OF_NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The key of a user, and whether there is that user with a password. An unknown name has a key as well: otherwise the time in which a cookie
/// is refused would tell which names there are.
fn key_for(name: &str, directory: &Directory) -> (hmac::Key, bool) {
    let user = directory.user(name);
    let hash = user
        .map(|user| user.password.reveal())
        .filter(|hash| !hash.is_empty());
    (key_of(hash.unwrap_or(OF_NOBODY)), hash.is_some())
}

/// The hash is as secret as the log that contains it, and only the server has it.
fn key_of(hash: &str) -> hmac::Key {
    let purpose = hmac::Key::new(hmac::HMAC_SHA256, b"skep session 1");
    let derived = hmac::sign(&purpose, hash.as_bytes());
    hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
}

fn csrf_of(key: &hmac::Key, said: &Said) -> String {
    URL_SAFE_NO_PAD.encode(hmac::sign(key, said.times.named().as_bytes()))
}

fn write(said: &Said) -> String {
    let user = URL_SAFE_NO_PAD.encode(&said.user);
    let Times { began, used, nonce } = &said.times;
    format!("1.{user}.{began}.{used}.{nonce}")
}

fn read(text: &str) -> Option<Said> {
    let mut parts = text.split('.');
    let ("1", user) = (parts.next()?, parts.next()?) else {
        return None;
    };
    let said = Said {
        user: String::from_utf8(URL_SAFE_NO_PAD.decode(user).ok()?).ok()?,
        times: Times {
            began: parts.next()?.parse().ok()?,
            used: parts.next()?.parse().ok()?,
            nonce: parts.next()?.to_string(),
        },
    };
    parts.next().is_none().then_some(said)
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};
    use skep_identity::Entry;
    use skep_protocol::Key;
    use skep_protocol::value::{PasswordHash, UserValue};

    use super::super::visitor::Visitor;
    use super::*;

    fn directory(hash: &str) -> Directory {
        let mut directory = Directory::default();
        let user = UserValue {
            user_key: Key::new(1, 1),
            username: "anna".into(),
            name: "".into(),
            email: "".into(),
            password: PasswordHash::new(hash),
        };
        directory.add(Key::new(1, 1), &Entry::User(user));
        directory
    }

    fn asked(
        cookie: &str,
        method: &Method,
        csrf: Option<&str>,
        of: &Directory,
    ) -> Result<Claims, Refused> {
        let mut headers = HeaderMap::new();
        if let Some(csrf) = csrf {
            headers.insert(CSRF, HeaderValue::try_from(csrf).unwrap());
        }
        let head = Head {
            method,
            authority: None,
            headers: &headers,
            visitor: &Visitor::new(std::net::Ipv4Addr::LOCALHOST.into()),
        };
        check(cookie, &head, of)
    }

    #[test]
    fn a_session_is_good_on_every_node_until_the_password_is_another_one() {
        let users = directory("$argon2id$1");
        let cookie = begin("anna", &users).unwrap();
        let shown = format!("{cookie:?}");
        let Cookie { value, csrf } = cookie;
        assert!(!shown.contains(&value) && !shown.contains(&csrf), "{shown}");
        let anna = Ok(claims_of("anna"));
        assert_eq!(asked(&value, &Method::GET, None, &users), anna);
        assert_eq!(asked(&value, &Method::POST, Some(&csrf), &users), anna);
        let forged = Err(Refused::Forged);
        assert_eq!(asked(&value, &Method::POST, None, &users), forged);
        assert_eq!(asked(&value, &Method::DELETE, Some("x"), &users), forged);
        let gone = Err(Refused::NoSession(Scheme::Basic));
        assert_eq!(
            asked(&value, &Method::GET, None, &directory("$argon2id$2")),
            gone
        );
        assert_eq!(asked(&value, &Method::GET, None, &directory("")), gone);
        assert_eq!(
            asked(&value, &Method::GET, None, &Directory::default()),
            gone
        );
    }

    #[test]
    fn a_name_that_nobody_has_takes_as_much_work_and_opens_nothing() {
        let users = directory("$argon2id$1");
        let said = Said {
            user: "nobody".into(),
            times: Times::begin().unwrap(),
        };
        let (key, is_known) = key_for("nobody", &users);
        assert!(!is_known);
        assert!(sealed(&said, &users).is_none());
        let text = write(&said);
        let seal = URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes()));
        let forged = format!("{text}.{seal}");
        let gone = Err(Refused::NoSession(Scheme::Basic));
        assert_eq!(asked(&forged, &Method::GET, None, &users), gone);
        assert_eq!(renewed(&forged, &users), None);
    }

    #[test]
    fn a_cookie_that_was_changed_or_is_old_is_none() {
        let users = directory("$argon2id$1");
        let Cookie { value, .. } = begin("anna", &users).unwrap();
        for at in 0..value.len() {
            let mut bytes = value.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            let answer = asked(&changed, &Method::GET, None, &users);
            assert_eq!(answer, Err(Refused::NoSession(Scheme::Basic)), "{changed}");
        }
        let now = now();
        for (began, used, is_good) in [
            (now, now, true),
            (now - LONGEST + 60, now, true),
            (now - LONGEST, now, false),
            (now - IDLE, now - IDLE, false),
        ] {
            let said = Said {
                user: "anna".into(),
                times: Times {
                    began,
                    used,
                    nonce: "n".into(),
                },
            };
            let cookie = sealed(&said, &users).unwrap();
            assert_eq!(
                asked(&cookie.value, &Method::GET, None, &users).is_ok(),
                is_good
            );
        }
    }

    #[test]
    fn a_session_that_is_used_gets_a_new_cookie_now_and_then_and_keeps_its_token() {
        let users = directory("$argon2id$1");
        let said = |used| Said {
            user: "anna".into(),
            times: Times {
                began: now() - 1000,
                used,
                nonce: "n".into(),
            },
        };
        let fresh = sealed(&said(now()), &users).unwrap();
        assert_eq!(renewed(&fresh.value, &users), None);
        let old = sealed(&said(now() - RENEW), &users).unwrap();
        let new = renewed(&old.value, &users).unwrap();
        assert_ne!(new.value, old.value);
        assert_eq!(new.csrf, old.csrf);
    }
}
