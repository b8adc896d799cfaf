//! Authentication of callers, before anything but the head of a request is read.
//!
//! A caller shows a password ([`basic`]), the token of an identity provider ([`bearer`]), or the cookie of a session
//! ([`session`], [`sessions`]). Permissions are not checked here: the engine checks them when it carries a command out, and
//! [`sight`] narrows what the caller finds.

mod argon;
pub mod basic;
pub mod bearer;
pub mod browsers;
mod generations;
pub mod guesses;
pub mod host;
mod known;
pub mod passwords;
mod refusals;
mod remembered;
mod renewal;
mod sealed;
pub mod secret;
pub mod session;
pub mod sessions;
pub mod sight;
pub mod visitor;
pub mod who;

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method};
use skep_identity::Directory;
use skep_oidc::{ProviderSettings, SettingsError};
use skep_protocol::Failure;
use skep_protocol::origin::Claims;
use skep_service::Broker;

use self::basic::Basic;
use self::bearer::Bearer;
use self::guesses::GuessLimits;
use self::passwords::Passwords;
use self::refusals::{FailedLogins, ForeignTenants, Refusals};
pub use self::remembered::Looks;
pub use self::sessions::Refreshes;
use self::visitor::Visitor;

/// Whether and how callers must authenticate (`camunda.security.authentication.*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// No authentication; credentials are ignored.
    #[default]
    Unprotected,
    /// By name and password.
    Basic,
    /// By a token of an identity provider.
    Bearer,
}

/// The authentication scheme, at the start of the header `authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Basic,
    Bearer,
}

impl Scheme {
    /// The credentials that a caller has to send, for error texts.
    fn expected(self) -> &'static str {
        match self {
            Scheme::Basic => "'Basic ' and name:password in base64",
            Scheme::Bearer => "'Bearer ' and a token of the identity provider",
        }
    }

    /// The header `www-authenticate` (RFC 9110, section 11.6.1).
    pub fn challenge(self) -> &'static str {
        match self {
            Scheme::Basic => "Basic realm=\"Skep\"",
            Scheme::Bearer => "Bearer realm=\"Skep\"",
        }
    }

    /// Prefix of the header's value.
    pub fn prefix(self) -> &'static str {
        match self {
            Scheme::Basic => "Basic ",
            Scheme::Bearer => "Bearer ",
        }
    }

    /// The credentials that follow the scheme in the header.
    fn value(self, header: &HeaderValue) -> Result<&str, Refused> {
        let text = header.to_str().map_err(|_| Refused::Other(self))?;
        let (scheme, value) = text.split_once(' ').ok_or(Refused::Other(self))?;
        if scheme.eq_ignore_ascii_case(self.prefix().trim_end()) {
            Ok(value.trim())
        } else {
            Err(Refused::Other(self))
        }
    }
}

/// Why a caller was not authenticated.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// No credentials were shown; this scheme is expected.
    Nothing(Scheme),
    /// Another scheme was shown than this one.
    Other(Scheme),
    /// Several headers were shown, of which a proxy may have checked another one than this server would.
    Several(Scheme),
    /// Name and password do not match, or there were too many attempts.
    Wrong,
    /// An invalid token, with the reason.
    Token(String),
    /// A session that has ended or never existed; the caller may show credentials of this scheme instead.
    NoSession(Scheme),
    /// A page of another site has sent the request, or one that does not know the session's token.
    Forged,
    /// It cannot be decided now.
    Cannot(Failure),
}

impl Refused {
    /// All reasons, as named in metrics.
    pub const REASONS: [&str; 7] = [
        "nothing",
        "scheme",
        "password",
        "token",
        "session",
        "forged",
        "unavailable",
    ];

    /// One of [`Refused::REASONS`].
    pub fn reason(&self) -> &'static str {
        let [
            nothing,
            scheme,
            password,
            token,
            session,
            forged,
            unavailable,
        ] = Refused::REASONS;
        match self {
            Refused::Nothing(_) => nothing,
            Refused::Other(_) | Refused::Several(_) => scheme,
            Refused::Wrong => password,
            Refused::Token(_) => token,
            Refused::NoSession(_) => session,
            Refused::Forged => forged,
            Refused::Cannot(_) => unavailable,
        }
    }

    /// The error text for the caller.
    pub fn text(&self) -> String {
        let text = match self {
            Refused::Nothing(scheme) => {
                let expected = scheme.expected();
                return format!(
                    "The request has no credentials. Send the header 'authorization' with {expected}."
                );
            }
            Refused::Other(scheme) => {
                let expected = scheme.expected();
                return format!(
                    "The header 'authorization' has a scheme that this server does not accept. Send {expected}."
                );
            }
            Refused::Several(_) => "The request has several headers 'authorization'. Send one.",
            Refused::Wrong => "Invalid credentials",
            Refused::Token(why) => why,
            Refused::NoSession(_) => "The session has ended. Log in again.",
            Refused::Forged => {
                "The request comes from a page of another site, or lacks the header X-CSRF-TOKEN of its session. It was not carried out. \
                 Behind a proxy that does not use TLS: let it pass on the header Host, or X-Forwarded-Host."
            }
            Refused::Cannot(_) => "The credentials cannot be checked now. Send the request again.",
        };
        text.to_string()
    }

    /// The scheme that the caller should use instead.
    pub fn asks_for(&self) -> Option<Scheme> {
        match self {
            Refused::Nothing(scheme)
            | Refused::Other(scheme)
            | Refused::Several(scheme)
            | Refused::NoSession(scheme) => Some(*scheme),
            Refused::Wrong => Some(Scheme::Basic),
            Refused::Token(_) => Some(Scheme::Bearer),
            Refused::Forged | Refused::Cannot(_) => None,
        }
    }
}

/// A request as the door sees it.
pub struct Head<'r> {
    pub method: &'r Method,
    /// The host in the address, where HTTP/2 has it.
    pub authority: Option<&'r Authority>,
    pub headers: &'r HeaderMap,
    pub visitor: &'r Visitor,
}

/// Counters of the door.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub looks: Looks,
    pub refreshes: Refreshes,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Door {
    pub sights: sight::Sights,
    pub refusals: Refusals,
    pub failed_logins: FailedLogins,
    pub foreign_tenants: ForeignTenants,
    /// The name of the cookie with a session.
    pub cookie: &'static str,
    basic: Basic,
    way: Way,
}

/// How callers authenticate, and what is needed to check it.
#[derive(Debug)]
enum Way {
    Unprotected,
    Basic,
    Bearer(Box<Bearer>),
}

impl Door {
    /// Has to be called in a runtime. `over_tls`: browsers come over TLS.
    ///
    /// # Errors
    /// The settings of a provider are invalid.
    pub fn open(
        (login, over_tls): (Login, bool),
        providers: &[ProviderSettings],
        (passwords, limits): (Arc<Passwords>, GuessLimits),
        counts: Counts,
        broker: &Arc<dyn Broker>,
    ) -> Result<Door, SettingsError> {
        Ok(Door {
            sights: sight::Sights::default(),
            refusals: Refusals::default(),
            failed_logins: FailedLogins::default(),
            foreign_tenants: ForeignTenants::default(),
            cookie: session::name(over_tls),
            basic: Basic::new(passwords, counts.looks.clone(), limits),
            way: match login {
                Login::Unprotected => Way::Unprotected,
                Login::Basic => Way::Basic,
                Login::Bearer => {
                    let broker = Arc::clone(broker);
                    Way::Bearer(Box::new(Bearer::start(providers, counts, broker)?))
                }
            },
        })
    }

    pub fn login(&self) -> Login {
        match self.way {
            Way::Unprotected => Login::Unprotected,
            Way::Basic => Login::Basic,
            Way::Bearer(_) => Login::Bearer,
        }
    }

    /// The caller, if it is known without a check: authentication is off, or the caller is the same as before.
    ///
    /// # Errors
    /// A page of another site has sent the request, or there is no directory.
    pub fn at_once(
        &self,
        head: &Head<'_>,
        directory: impl FnOnce() -> Result<Arc<Directory>, Refused>,
    ) -> Result<Option<Claims>, Refused> {
        if is_forged(head) {
            return Err(Refused::Forged);
        }
        let (bearer, scheme) = match &self.way {
            Way::Unprotected => return Ok(Some(Claims::Anonymous)),
            Way::Basic => (None, Scheme::Basic),
            Way::Bearer(bearer) => (Some(bearer), Scheme::Bearer),
        };
        let Some(header) = only_header(head.headers, scheme)? else {
            return Ok(None);
        };
        Ok(head.visitor.again(header, &directory()?, |verified| {
            bearer.is_some_and(|bearer| bearer.is_still(verified))
        }))
    }

    /// Checks the credentials of a caller who is not known at once.
    ///
    /// # Errors
    /// The caller is not authenticated.
    pub async fn check(
        &self,
        head: &Head<'_>,
        directory: &Arc<Directory>,
    ) -> Result<Claims, Refused> {
        let header = head.headers.get(AUTHORIZATION);
        let (claims, verified) = match (&self.way, header) {
            (Way::Unprotected, _) => return Ok(Claims::Anonymous),
            (Way::Basic, None) => {
                let cookie = self.session_of(head, Scheme::Basic)?;
                basic::is_known(directory)?;
                return session::check(&cookie, head, directory);
            }
            (Way::Bearer(bearer), None) => {
                let cookie = self.session_of(head, Scheme::Bearer)?;
                return bearer.session(&cookie, head, directory).await;
            }
            (Way::Basic, Some(header)) => {
                let peer = head.visitor.peer;
                (self.basic.check(header, peer, directory).await?, None)
            }
            (Way::Bearer(bearer), Some(header)) => {
                let (claims, verified) = bearer.check(header, directory).await?;
                (claims, Some(verified))
            }
        };
        if let Some(header) = header {
            let visitor = head.visitor;
            visitor.admitted(header, directory, claims.clone(), verified);
        }
        Ok(claims)
    }

    /// The providers whose tokens are accepted, if that is the login.
    pub fn bearer(&self) -> Option<&Bearer> {
        match &self.way {
            Way::Bearer(bearer) => Some(bearer),
            Way::Unprotected | Way::Basic => None,
        }
    }

    /// The session that a request shows instead of the header.
    fn session_of(&self, head: &Head<'_>, expected: Scheme) -> Result<String, Refused> {
        self.shown_session(head.headers)
            .ok_or(Refused::Nothing(expected))
    }

    /// The session that a request shows.
    pub fn shown_session(&self, headers: &HeaderMap) -> Option<String> {
        session::cookie(headers.get_all(COOKIE), self.cookie)
    }

    /// The cookie that replaces the shown one, if it is due.
    pub fn renewed(&self, shown: &str, directory: &Directory) -> Option<session::Cookie> {
        match &self.way {
            Way::Unprotected => None,
            Way::Basic => session::renewed(shown, directory),
            Way::Bearer(bearer) => browsers::renewed(bearer.providers(), shown),
        }
    }

    /// The name of the user who logs in with this password.
    ///
    /// # Errors
    /// As [`Door::check`].
    pub async fn log_in(
        &self,
        name: &str,
        password: secret::Secret,
        peer: IpAddr,
        directory: &Directory,
    ) -> Result<Claims, Refused> {
        self.basic.verify(name, password, peer, directory).await
    }
}

/// The header with the credentials.
fn only_header(headers: &HeaderMap, expected: Scheme) -> Result<Option<&HeaderValue>, Refused> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (only, None) => Ok(only),
        _ => Err(Refused::Several(expected)),
    }
}

/// Browsers say which site's page sends a request. A page of another site may read, as the browser keeps the answer from it,
/// but change nothing. This holds without a login, too: every page that somebody opens reaches a server on the same machine.
///
/// Over plain HTTP, browsers leave the site out unless the server is on the same machine; the origin is always there.
pub fn is_forged(head: &Head<'_>) -> bool {
    !is_safe(head.method)
        && match head.headers.get("sec-fetch-site") {
            Some(site) => site == "cross-site" || site == "same-site",
            None => is_of_another_origin(head),
        }
}

fn is_of_another_origin(head: &Head<'_>) -> bool {
    let Some(origin) = head.headers.get(ORIGIN) else {
        return false;
    };
    let origin = origin.to_str().unwrap_or_default();
    let authority = origin
        .split_once("://")
        .map_or("", |(_, authority)| authority);
    // A proxy passes on the name that the browser used. No page can set it for a request to another site.
    let named = ["x-forwarded-host", "host"].map(|name| head.headers.get(name));
    let named = named.into_iter().flatten();
    let named = named.filter_map(|host| host.to_str().ok());
    let addressed = head.authority.map(Authority::as_str);
    let is_own = named.chain(addressed).any(|host| {
        // Several proxies make a list.
        let mut hosts = host.split(',');
        hosts.any(|host| host.trim().eq_ignore_ascii_case(authority))
    });
    authority.is_empty() || !is_own
}

/// Whether the method changes nothing.
fn is_safe(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    )
}
