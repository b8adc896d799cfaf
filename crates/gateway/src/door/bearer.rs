//! Bearer tokens: a provider has signed who calls. A token that was valid is remembered until it expires, so that its
//! signature is checked only once.

use std::sync::Arc;
use std::time::SystemTime;

use http::HeaderValue;
use parking_lot::Mutex;
use skep_identity::Directory;
use skep_identity::claims::Named;
use skep_oidc::{Kind, ProviderSettings, Providers, SettingsError, Verified};
use skep_protocol::Failure;
use skep_protocol::origin::{Claims, Principal};
use skep_service::Broker;

use super::basic;
use super::browsers::{self, Arrival, Arrived};
use super::remembered::Remembered;
use super::session::has_shown;
use super::sessions::Sessions;
use super::{Counts, Head, Refused, Scheme};

#[derive(Debug)]
pub struct Bearer {
    providers: Arc<Providers>,
    sessions: Arc<Sessions>,
    known: Remembered<Known>,
    rules: Mutex<Rules>,
}

/// A token that was valid.
#[derive(Clone, Debug)]
struct Known {
    verified: Verified,
    claims: Claims,
    /// Which of its claims go with its commands.
    named: Arc<Named>,
}

/// The claims that the rules of a directory name; another directory has another address.
#[derive(Debug, Default)]
struct Rules {
    of: Option<Arc<Directory>>,
    named: Arc<Named>,
}

impl Bearer {
    /// Begins to fetch the keys of the providers. Has to be called in a runtime.
    ///
    /// # Errors
    /// A setting cannot be carried out.
    pub fn start(
        settings: &[ProviderSettings],
        counts: Counts,
        broker: Arc<dyn Broker>,
    ) -> Result<Bearer, SettingsError> {
        let providers = Arc::new(Providers::start(settings)?);
        Ok(Bearer {
            sessions: Arc::new(Sessions::new(
                Arc::clone(&providers),
                counts.refreshes,
                broker,
            )),
            providers,
            known: Remembered::new(counts.looks),
            rules: Mutex::default(),
        })
    }

    /// The caller named by this header, and the verified token.
    ///
    /// # Errors
    /// The token is invalid, or its validity cannot be determined.
    pub async fn check(
        &self,
        header: &HeaderValue,
        directory: &Arc<Directory>,
    ) -> Result<(Claims, Verified), Refused> {
        // Before anything can wait: waiting in this server must not expire a token.
        let now = SystemTime::now();
        // The token alone is looked up: its header can be written in many ways, each of which would take a place in the memory.
        let token = Scheme::Bearer.value(header)?;
        let named = self.named(directory);
        if let Some(known) = self.known.find(token.as_bytes()) {
            match self.providers.is_still(&known.verified, now) {
                Ok(true) if Arc::ptr_eq(&known.named, &named) => {
                    return Ok((known.claims, known.verified));
                }
                Ok(true) => return Ok(self.remember(token, known.verified, named)),
                Ok(false) => {}
                Err(refused) => {
                    self.known.forget(token.as_bytes());
                    return Err(refused.into());
                }
            }
        }
        let verified = self.providers.verify(token, now).await?;
        Ok(self.remember(token, verified, named))
    }

    /// Whether a token that was valid still is.
    pub fn is_still(&self, verified: &Verified) -> bool {
        self.providers.is_still(verified, SystemTime::now()) == Ok(true)
    }

    /// The owner of a session.
    ///
    /// # Errors
    /// It has ended, never existed, its own page did not send the request, or this cannot be determined.
    pub async fn session(
        &self,
        cookie: &str,
        head: &Head<'_>,
        directory: &Arc<Directory>,
    ) -> Result<Claims, Refused> {
        let Some(shown) = self.sessions.shown(cookie) else {
            return browsers::check(&self.providers, cookie, head);
        };
        if !has_shown(head, &shown.csrf()) {
            return Err(Refused::Forged);
        }
        let rules = self.named(directory);
        self.sessions.caller(&shown, rules).await
    }

    /// Ends a session on all nodes. Returns the name of the provider at which its user has logged in.
    ///
    /// # Errors
    /// The request was not sent by its own page, or the session still exists.
    pub async fn leave(&self, cookie: &str, head: &Head<'_>) -> Result<Option<String>, Refused> {
        let Some(shown) = self.sessions.shown(cookie) else {
            // A session that has ended may be forgotten.
            if let Err(Refused::Forged) = browsers::check(&self.providers, cookie, head) {
                return Err(Refused::Forged);
            }
            return Ok(browsers::provider_of(&self.providers, cookie));
        };
        if !has_shown(head, &shown.csrf()) {
            return Err(Refused::Forged);
        }
        self.sessions.end(&shown).await?;
        Ok(Some(shown.provider))
    }

    /// Completes a login, as [`browsers::arrive`] does, and begins a session.
    ///
    /// # Errors
    /// The login failed, or no session can be made.
    pub async fn arrive(
        &self,
        kept: &str,
        given: (&str, &str),
        directory: &Arc<Directory>,
    ) -> Result<Arrival, Refused> {
        let named = self.named(directory);
        let Arrived {
            to,
            provider,
            logged_in,
        } = browsers::arrive(&self.providers, kept, given).await?;
        // While there is a node of an earlier version, which does not support sessions kept by the cluster.
        let in_cookie = browsers::session(&self.providers, &provider, &logged_in.verified, &named);
        let cookie = match self.sessions.begin(&provider, logged_in, &named).await? {
            Some(cookie) => cookie,
            None => in_cookie?,
        };
        Ok(Arrival { to, cookie })
    }

    pub fn providers(&self) -> &Providers {
        &self.providers
    }

    fn remember(&self, token: &str, verified: Verified, named: Arc<Named>) -> (Claims, Verified) {
        let claims = claims_of(&verified, &named);
        let known = Known {
            verified: verified.clone(),
            claims: claims.clone(),
            named,
        };
        self.known.remember(token.as_bytes(), known);
        (claims, verified)
    }

    fn named(&self, directory: &Arc<Directory>) -> Arc<Named> {
        let mut rules = self.rules.lock();
        let is_same = |held: &Arc<Directory>| Arc::ptr_eq(held, directory);
        if !rules.of.as_ref().is_some_and(is_same) {
            rules.of = Some(Arc::clone(directory));
            let is_known = basic::is_known(directory).is_ok() || directory.rules().next().is_some();
            let named = if is_known {
                Named::by(directory)
            } else {
                // Some rule may look at any of them, and a command without it would be refused.
                Named::All
            };
            if *rules.named != named {
                rules.named = Arc::new(named);
            }
        }
        Arc::clone(&rules.named)
    }
}

fn claims_of(verified: &Verified, named: &Named) -> Claims {
    let principal = Arc::new(Principal {
        id: verified.id.clone(),
        groups: verified.groups.clone(),
        token: named.of(&verified.claims).into(),
    });
    match verified.kind {
        Kind::User => Claims::User(principal),
        Kind::Client => Claims::Client(principal),
    }
}

impl From<skep_oidc::Refused> for Refused {
    fn from(refused: skep_oidc::Refused) -> Refused {
        match refused {
            skep_oidc::Refused::Wrong(why) => Refused::Token(why),
            skep_oidc::Refused::Unknown(why) => Refused::Cannot(Failure::Unavailable(why)),
        }
    }
}
