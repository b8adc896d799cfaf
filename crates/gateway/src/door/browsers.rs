//! Browsers that log in at an identity provider: on their way there and back.
//!
//! Their sessions are kept by the cluster ([`sessions`](super::sessions)). While there is a node older than these, the cookie
//! is all that is kept of a session, as with [`session`](super::session): it holds the provider's data from the login.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_identity::claims::Named;
use skep_oidc::{Attempt, Kind, LoggedIn, Providers, Verified};
use skep_protocol::Failure;
use skep_protocol::origin::{Claims, Principal};

use super::sealed::Seal;
use super::session::{Cookie, Times, has_shown, now};
use super::{Head, Refused, Scheme};

const SESSION: &str = "session";
const ATTEMPT: &str = "login";

/// Seconds within which a login must be finished.
pub const ATTEMPT_TIME: u64 = 10 * 60;

/// Bytes of a cookie; browsers keep no larger ones.
pub(super) const MAX_COOKIE: usize = 4000;

/// Bytes of the path that a browser goes to after the login.
const MAX_TO: usize = 1 << 10;

/// The content of a session cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    id: Arc<str>,
    groups: Option<Vec<Arc<str>>>,
    token: String,
    times: Times,
}

/// Data that a browser keeps while it is at the provider.
#[derive(Serialize, Deserialize)]
struct Away {
    attempt: Attempt,
    /// Where it goes afterwards.
    to: String,
    /// Seconds since 1970.
    began: u64,
}

/// Where to send a browser, and what it keeps until it is back.
pub struct Departure {
    pub to: String,
    pub cookie: String,
    pub state: String,
}

/// A browser that is back with a valid code.
pub struct Arrived {
    pub to: String,
    pub provider: String,
    pub logged_in: LoggedIn,
}

/// A browser that has a session.
pub struct Arrival {
    pub to: String,
    pub cookie: Cookie,
}

fn seal(providers: &Providers, name: &str, purpose: &'static str) -> Option<Seal> {
    Seal::of(providers.secret(name)?, purpose)
}

/// Puts the name of the provider in front of the data that is sealed with its secret.
fn named<'t>(
    providers: &Providers,
    text: &'t str,
    purpose: &'static str,
) -> Option<(&'t str, Seal, &'t str)> {
    let (name, sealed) = text.split_once('~').filter(|_| text.len() <= MAX_COOKIE)?;
    Some((name, seal(providers, name, purpose)?, sealed))
}

/// Sends a browser to the provider. `here`: where it comes back to; `to`: where it goes then.
///
/// # Errors
/// There is no such provider, or its login address is still unknown.
pub fn depart(
    providers: &Providers,
    name: &str,
    here: &str,
    to: Option<&str>,
) -> Result<Departure, Refused> {
    let (place, attempt) = providers.begin(name, here)?;
    let state = attempt.state.clone();
    let away = Away {
        attempt,
        to: to.filter(|to| is_ours(to)).unwrap_or("/").to_string(),
        began: now(),
    };
    let sealed = seal(providers, name, ATTEMPT).and_then(|seal| seal.close(&away));
    let sealed = sealed.ok_or_else(out_of_order)?;
    Ok(Departure {
        to: place,
        cookie: format!("{name}~{sealed}"),
        state,
    })
}

/// Whether it is a path of this server: a login must not redirect elsewhere.
fn is_ours(to: &str) -> bool {
    let is_plain = to
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_plain && to.len() <= MAX_TO && to.starts_with('/') && !to.starts_with("//")
}

/// Completes the login of a browser that is back from the provider. `kept`: its cookie of [`depart`].
///
/// # Errors
/// The login failed.
pub async fn arrive(
    providers: &Providers,
    kept: &str,
    (state, code): (&str, &str),
) -> Result<Arrived, Refused> {
    let away = named(providers, kept, ATTEMPT);
    let away = away.and_then(|(_, seal, sealed)| seal.open::<Away>(sealed));
    let away = away.filter(|away| now().saturating_sub(away.began) < ATTEMPT_TIME);
    let away = away.filter(|away| away.attempt.state == state);
    let away = away.ok_or(Refused::NoSession(Scheme::Bearer))?;
    let logged_in = providers.finish(&away.attempt, code).await?;
    if logged_in.verified.kind != Kind::User {
        return Err(Refused::Token(
            "The token belongs to a client, but only users can log in with a browser.".to_string(),
        ));
    }
    Ok(Arrived {
        to: away.to,
        provider: away.attempt.provider,
        logged_in,
    })
}

/// A session that only the cookie holds.
pub(super) fn session(
    providers: &Providers,
    name: &str,
    verified: &Verified,
    rules: &Named,
) -> Result<Cookie, Refused> {
    let said = Said {
        id: verified.id.clone(),
        groups: verified.groups.clone(),
        token: rules.of(&verified.claims),
        times: Times::begin().ok_or_else(out_of_order)?,
    };
    let cookie = cookie(providers, name, &said).ok_or_else(out_of_order)?;
    if cookie.value.len() <= MAX_COOKIE {
        Ok(cookie)
    } else {
        Err(Refused::Token(format!(
            "The groups and claims of the token take more than the {MAX_COOKIE} bytes that a browser keeps. Give the user fewer groups."
        )))
    }
}

fn cookie(providers: &Providers, name: &str, said: &Said) -> Option<Cookie> {
    let seal = seal(providers, name, SESSION)?;
    Some(Cookie {
        value: format!("{name}~{}", seal.close(said)?),
        csrf: seal.mark(&said.times.named()),
    })
}

/// The owner of the session.
///
/// # Errors
/// It has ended, never existed, or its own page did not send the request.
pub fn check(providers: &Providers, cookie: &str, head: &Head<'_>) -> Result<Claims, Refused> {
    let (_, seal, said) = opened(providers, cookie).ok_or(Refused::NoSession(Scheme::Bearer))?;
    if !has_shown(head, &seal.mark(&said.times.named())) {
        return Err(Refused::Forged);
    }
    Ok(Claims::User(Arc::new(Principal {
        id: said.id,
        groups: said.groups,
        token: said.token.into(),
    })))
}

fn opened<'t>(providers: &Providers, cookie: &'t str) -> Option<(&'t str, Seal, Said)> {
    let (name, seal, sealed) = named(providers, cookie, SESSION)?;
    let said: Said = seal.open(sealed)?;
    (!said.times.are_over()).then_some((name, seal, said))
}

/// The cookie that replaces this one, if it is due.
pub fn renewed(providers: &Providers, shown: &str) -> Option<Cookie> {
    let (name, _, said) = opened(providers, shown)?;
    let times = said.times.renewed()?;
    cookie(providers, name, &Said { times, ..said })
}

/// The provider at which the user of a session has logged in.
pub(super) fn provider_of(providers: &Providers, shown: &str) -> Option<String> {
    let (name, _, _) = opened(providers, shown)?;
    Some(name.to_string())
}

pub(super) fn out_of_order() -> Refused {
    Refused::Cannot(Failure::Internal(
        "The cryptography of this server does not work.".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn a_login_ends_on_this_server() {
        for (to, expected) in [
            ("/", true),
            ("/processes?state=active#x", true),
            ("", false),
            ("//evil.example.org", false),
            ("/\\evil.example.org", false),
            ("https://evil.example.org", false),
            ("javascript:alert(1)", false),
            ("/a\r\nset-cookie: x=y", false),
            ("/ü", false),
        ] {
            assert_eq!(is_ours(to), expected, "{to}");
        }
        assert!(!is_ours(&format!("/{}", "x".repeat(2000))));
    }
}
