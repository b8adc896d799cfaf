//! Who comes in: asked before anything of a request is read but its head.
//!
//! A caller shows a password ([`basic`]) or the cookie of a session ([`session`]). What he may do is none of the door's business: the engine
//! asks when it carries a command out, and [`sight`] narrows what he finds.

pub mod basic;
mod guesses;
pub mod passwords;
pub mod secret;
pub mod session;
pub mod sight;
pub mod who;

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, Method};
use skep_identity::Directory;
use skep_protocol::Failure;
use skep_protocol::origin::Claims;

use self::basic::Basic;
use self::passwords::Passwords;

/// Whether callers have to say who they are, and how (`camunda.security.authentication.*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// Nobody is asked, and what callers show is not looked at.
    #[default]
    Unprotected,
    /// By name and password.
    Basic,
}

/// Why somebody does not come in.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// Nothing was shown.
    Nothing,
    /// Another scheme than `Basic`.
    Scheme,
    /// Name and password do not go together, or too many were tried.
    Wrong,
    /// A session that has ended, or that nobody began.
    NoSession,
    /// A page of another site has sent the request, or one that does not know the session's token.
    Forged,
    /// It cannot be told now.
    Cannot(Failure),
}

impl Refused {
    /// What the caller reads.
    pub fn text(&self) -> &'static str {
        match self {
            Refused::Nothing => {
                "The request says nobody's name. Send the header 'authorization' with 'Basic ' and name:password in base64."
            }
            Refused::Scheme => {
                "The header 'authorization' has another scheme than this server takes. Send 'Basic ' and name:password in base64."
            }
            Refused::Wrong => "Invalid credentials",
            Refused::NoSession => "The session has ended. Log in again.",
            Refused::Forged => {
                "The request comes from a page of another site, or lacks the header X-CSRF-TOKEN of its session. It was not carried out."
            }
            Refused::Cannot(_) => {
                "It cannot be told now whether the credentials are right. Send the request again."
            }
        }
    }
}

/// A request as the door sees it.
pub struct Head<'r> {
    pub method: &'r Method,
    pub headers: &'r HeaderMap,
    pub peer: IpAddr,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Door {
    pub sights: sight::Sights,
    login: Login,
    basic: Basic,
}

impl Door {
    pub fn new(login: Login, passwords: Arc<Passwords>) -> Door {
        Door {
            sights: sight::Sights::default(),
            login,
            basic: Basic::new(passwords),
        }
    }

    pub fn login(&self) -> Login {
        self.login
    }

    /// Who calls.
    ///
    /// # Errors
    /// He does not come in.
    pub async fn enter(&self, head: &Head<'_>, directory: &Directory) -> Result<Claims, Refused> {
        if is_forged(head) {
            return Err(Refused::Forged);
        }
        match self.login {
            Login::Unprotected => Ok(Claims::Anonymous),
            Login::Basic => self.known(head, directory).await,
        }
    }

    /// As [`Door::enter`], where nobody is asked.
    ///
    /// # Errors
    /// A page of another site has sent the request.
    pub fn unprotected(&self, head: &Head<'_>) -> Result<Claims, Refused> {
        match is_forged(head) {
            true => Err(Refused::Forged),
            false => Ok(Claims::Anonymous),
        }
    }

    async fn known(&self, head: &Head<'_>, directory: &Directory) -> Result<Claims, Refused> {
        if let Some(header) = head.headers.get(AUTHORIZATION) {
            return self.basic.check(header, head.peer, directory).await;
        }
        match session::shown(head.headers.get_all(COOKIE)) {
            Some(cookie) => session::check(&cookie, head, directory),
            None => Err(Refused::Nothing),
        }
    }

    /// The name of who logs in with this password.
    ///
    /// # Errors
    /// As [`Door::enter`].
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

/// Browsers say which site's page sends a request. One of another site may read, which the browser keeps from it, and change nothing:
/// without a login, too, as a server on one's own machine is reached by every page that one opens.
fn is_forged(head: &Head<'_>) -> bool {
    let site = head.headers.get("sec-fetch-site");
    let foreign = site.is_some_and(|site| site == "cross-site" || site == "same-site");
    foreign && !is_safe(head.method)
}

/// It changes nothing.
fn is_safe(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    )
}
