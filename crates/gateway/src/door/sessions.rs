//! Sessions of browsers that the cluster keeps: the first partition has a row for each, so that every node serves all of
//! them, a lost node loses none, and a logout ends a session everywhere.
//!
//! A browser shows a random id under a mark that only nodes can make, so that a forged cookie costs no more than a look. The
//! row has the hash of the id; the user's data from the provider and the refresh token are sealed in it under a key that is
//! derived from the id. So the data on disk neither opens a session nor says anything about its user but the name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use skep_identity::claims::Named;
use skep_metrics::Counter;
use skep_oidc::{ClientSecret, Kind, Lasting, LoggedIn, Providers, Verified};
use skep_protocol::command::{Request, SessionCommand};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::SessionId;
use skep_protocol::{Command, Failure, Response};
use skep_service::Broker;
use tokio::sync::Semaphore;
use zeroize::Zeroize as _;

use super::browsers::{MAX_COOKIE, out_of_order};
use super::known::{Known, Slot, Told};
use super::renewal::Renewal;
use super::sealed::Seal;
use super::session::{Cookie, now};
use super::{Refused, Scheme};

/// How long a session is assumed unchanged: after this time all nodes know of a logout.
const FRESH: Duration = Duration::from_secs(5);
/// The longest that it is assumed so at a node that does not hear the leader of the first partition.
const CUT_OFF: Duration = Duration::from_secs(60);
/// Extra seconds for which the provider's data counts beyond its validity, while the provider cannot be reached.
const GRACE: u64 = 5 * 60;
/// Timeout for an answer of the first partition.
const ANSWER: Duration = Duration::from_secs(10);
/// Maximum sealed bytes in a row.
const MAX_SEALED: usize = 16 << 10;
/// Sessions for which a node asks providers at a time.
const MAX_RENEWED: usize = 64;
/// Seconds between two log lines about an unreachable provider.
const LOGGED: u64 = 10;

/// See the [module](self).
pub struct Sessions {
    pub(super) providers: Arc<Providers>,
    broker: Arc<dyn Broker>,
    known: Known,
    renewed: Arc<Semaphore>,
    pub(super) refreshes: Refreshes,
    /// When the last log line about an unreachable provider was written, in seconds since 1970.
    logged: AtomicU64,
}

/// Counts of checks with a provider whether a user is still logged in, by outcome.
#[derive(Clone, Debug, Default)]
pub struct Refreshes {
    pub renewed: Counter,
    /// The login has ended, or belongs to another user.
    pub ended: Counter,
    /// The provider did not answer.
    pub unanswered: Counter,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

/// The sealed part of a row.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    provider: String,
    pub id: Arc<str>,
    groups: Option<Vec<Arc<str>>>,
    token: String,
    pub lasting: Option<Token>,
}

/// The refresh token of a session.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Token {
    pub refresh_token: String,
    pub subject: String,
    /// When the provider's data expires, in seconds since 1970.
    pub expires: u64,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.refresh_token.zeroize();
    }
}

impl From<Lasting> for Token {
    fn from(lasting: Lasting) -> Token {
        Token {
            refresh_token: lasting.refresh_token.to_string(),
            subject: lasting.subject,
            expires: lasting.expires,
        }
    }
}

impl Kept {
    fn new(provider: &str, verified: &Verified, lasting: Option<Token>, rules: &Named) -> Kept {
        Kept {
            provider: provider.to_string(),
            id: verified.id.clone(),
            groups: verified.groups.clone(),
            token: rules.of(&verified.claims),
            lasting,
        }
    }

    /// The session with the provider's current data about the user; `None`: it is another user.
    pub fn with(&self, verified: &Verified, rules: &Named) -> Option<Kept> {
        let is_same = verified.kind == Kind::User && verified.id == self.id;
        let lasting = self.lasting.clone();
        is_same.then(|| Kept::new(&self.provider, verified, lasting, rules))
    }

    /// Whether the provider must be asked again.
    pub fn is_due(&self) -> bool {
        let lasting = self.lasting.as_ref();
        lasting.is_some_and(|lasting| now() >= lasting.expires)
    }

    /// Whether the provider should have been asked long ago.
    fn is_overdue(&self) -> bool {
        let lasting = self.lasting.as_ref();
        lasting.is_some_and(|lasting| now() >= lasting.expires.saturating_add(GRACE))
    }

    fn claims(&self) -> Claims {
        Claims::User(Arc::new(Principal {
            id: self.id.clone(),
            groups: self.groups.clone(),
            token: self.token.clone().into(),
        }))
    }
}

/// A cookie that a node has made.
#[derive(Clone)]
pub struct Shown {
    pub provider: String,
    pub(super) id: SessionId,
    seal: Arc<Seal>,
}

impl Shown {
    /// Of the session with this id. `None`: cryptography is out of order.
    fn new(provider: &str, id: &str) -> Option<Shown> {
        let mut hash = SessionId::default();
        let digest = digest(&SHA256, id.as_bytes());
        for (to, from) in hash.iter_mut().zip(digest.as_ref()) {
            *to = *from;
        }
        let seal = Seal::of(&ClientSecret::new(id.to_string()), "session row")?;
        Some(Shown {
            provider: provider.to_string(),
            id: hash,
            seal: Arc::new(seal),
        })
    }

    /// The token that a request must show to change something.
    pub fn csrf(&self) -> String {
        self.seal.mark("csrf")
    }

    pub(super) fn open(&self, sealed: &str) -> Option<Kept> {
        let kept: Kept = self.seal.open(sealed)?;
        (kept.provider == self.provider).then_some(kept)
    }

    /// `None`: it is too large.
    pub(super) fn close(&self, kept: &Kept) -> Option<Arc<str>> {
        let sealed = self.seal.close(kept)?;
        (sealed.len() <= MAX_SEALED).then(|| sealed.into())
    }
}

/// A mark of the id that only nodes can make.
fn mark(providers: &Providers, provider: &str, id: &str) -> Option<String> {
    let seal = Seal::of(providers.secret(provider)?, "session id")?;
    Some(seal.mark(&format!("session id {id}")))
}

/// A leader that is lost leaves the caller of a command in doubt. Here nobody needs to be: a session may be begun, used or ended
/// again, and the request that shows it has not come further than the door.
fn not_in_doubt(failure: Failure) -> Failure {
    match failure {
        Failure::Aborted(_) => Failure::Unavailable(
            "Partition 1, which keeps the sessions of browsers, lost its leader before it answered. Send the request again."
                .to_string(),
        ),
        other => other,
    }
}

fn no_answer() -> Failure {
    Failure::Unavailable(format!(
        "The first partition has not answered within {} s.",
        ANSWER.as_secs()
    ))
}

fn remember(slot: &Slot, kept: &Kept) -> Claims {
    let claims = kept.claims();
    let at = Instant::now();
    let mut until = at + FRESH;
    if let Some(lasting) = &kept.lasting
        && !kept.is_due()
    {
        let left = Duration::from_secs(lasting.expires.saturating_sub(now()));
        until = until.min(at + left);
    }
    slot.confirm(claims.clone(), at, until);
    claims
}

impl Sessions {
    pub fn new(
        providers: Arc<Providers>,
        refreshes: Refreshes,
        broker: Arc<dyn Broker>,
    ) -> Sessions {
        Sessions {
            refreshes,
            providers,
            broker,
            known: Known::default(),
            renewed: Arc::new(Semaphore::new(MAX_RENEWED)),
            logged: AtomicU64::new(0),
        }
    }

    /// The session of a cookie, if a node has made it and the cluster keeps the session.
    pub fn shown(&self, cookie: &str) -> Option<Shown> {
        let (provider, rest) = cookie
            .split_once('~')
            .filter(|_| cookie.len() <= MAX_COOKIE)?;
        let (id, shown) = rest.split_once('.')?;
        let expected = mark(&self.providers, provider, id)?;
        verify_slices_are_equal(shown.as_bytes(), expected.as_bytes()).ok()?;
        Shown::new(provider, id)
    }

    /// Begins a session of a user who has logged in. `None`: some node of the cluster does not support such sessions yet.
    ///
    /// # Errors
    /// It is too large, or the first partition does not answer.
    pub async fn begin(
        &self,
        provider: &str,
        logged_in: LoggedIn,
        rules: &Named,
    ) -> Result<Option<Cookie>, Refused> {
        let LoggedIn { verified, lasting } = logged_in;
        let mut bytes = [0; 32];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| out_of_order())?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let shown = Shown::new(provider, &id).ok_or_else(out_of_order)?;
        let mark = mark(&self.providers, provider, &id).ok_or_else(out_of_order)?;
        let kept = Kept::new(provider, &verified, lasting.map(Token::from), rules);
        let sealed = shown.close(&kept).ok_or_else(|| {
            Refused::Token(format!(
                "The groups, claims and tokens of the user take more than the {MAX_SEALED} bytes that are kept of a session. Give the \
                 user fewer groups."
            ))
        })?;
        let begin = SessionCommand::BeginSession {
            id: shown.id,
            user: kept.id.clone(),
            sealed,
        };
        let request = Request::internal(Command::Session(begin));
        if !self.broker.is_known_everywhere(&request) {
            return Ok(None);
        }
        self.send(request).await.map_err(Refused::Cannot)?;
        Ok(Some(Cookie {
            value: format!("{provider}~{id}.{mark}"),
            csrf: shown.csrf(),
        }))
    }

    /// The owner of the session.
    ///
    /// # Errors
    /// It has ended, or this cannot be determined.
    pub async fn caller(
        self: &Arc<Self>,
        shown: &Shown,
        rules: Arc<Named>,
    ) -> Result<Claims, Refused> {
        let slot = self.known.slot(&shown.id);
        if let Some(owner) = slot.owner() {
            return Ok(owner);
        }
        let arrived = Instant::now();
        let Ok(asking) = tokio::time::timeout(ANSWER, slot.asking.lock()).await else {
            return self.unconfirmed(&slot, no_answer());
        };
        match slot.told(arrived) {
            Some(Told::Owner(owner)) => return Ok(owner),
            Some(Told::Failed(failure)) => return self.unconfirmed(&slot, failure),
            Some(Told::Over) => return Err(Refused::NoSession(Scheme::Bearer)),
            None => {}
        }
        let row = match self.used(shown.id).await {
            Ok(row) => row,
            Err(failure) => {
                slot.fail(failure.clone());
                return self.unconfirmed(&slot, failure);
            }
        };
        let opened = row.and_then(|(revision, sealed)| Some((revision, shown.open(&sealed)?)));
        let Some((revision, kept)) = opened else {
            self.known.forget(&shown.id);
            return Err(Refused::NoSession(Scheme::Bearer));
        };
        if !kept.is_due() {
            return Ok(remember(&slot, &kept));
        }
        // While one request asks the provider, the others go on with what is known.
        drop(asking);
        let kept = self.renew(shown, revision, kept, rules).await?;
        Ok(remember(&slot, &kept))
    }

    /// The owner of a session of which the first partition does not say whether it still exists. It counts if it was confirmed shortly
    /// before this node last heard the leader, as nobody can end a session without one. But a node that is cut off cannot know whether
    /// others hear a leader and log the user out there: therefore not for longer than [`CUT_OFF`].
    ///
    /// # Errors
    /// It was not confirmed then.
    fn unconfirmed(&self, slot: &Slot, failure: Failure) -> Result<Claims, Refused> {
        let unheard = self.broker.directory_age();
        let counts = unheard.saturating_add(FRESH).min(CUT_OFF);
        let owner = slot.owner_within(counts);
        owner.ok_or(Refused::Cannot(failure))
    }

    /// Revision and sealed content of a session.
    pub(super) async fn used(&self, id: SessionId) -> Result<Option<(u64, Arc<str>)>, Failure> {
        match self.ask(SessionCommand::UseSession { id }).await? {
            Response::Session(row) => Ok(row.map(|row| (row.revision, row.sealed))),
            _ => Err(Failure::Internal("The session has no row.".to_string())),
        }
    }

    /// Asks the provider, if no other node does so. Its previous answer stays valid for a while.
    async fn renew(
        self: &Arc<Self>,
        shown: &Shown,
        revision: u64,
        kept: Kept,
        rules: Arc<Named>,
    ) -> Result<Kept, Refused> {
        let renewed = match Arc::clone(&self.renewed).try_acquire_owned() {
            Ok(place) => {
                let renewal = Renewal {
                    sessions: Arc::clone(self),
                    shown: shown.clone(),
                    revision,
                    rules,
                };
                // In a task of its own: a caller that hangs up must not lose the new refresh token.
                let task = tokio::spawn(async move {
                    let renewed = renewal.run().await;
                    drop(place);
                    renewed
                });
                task.await.unwrap_or(Ok(None))
            }
            Err(_) => Ok(None),
        };
        if matches!(renewed, Err(Refused::NoSession(_))) {
            self.known.forget(&shown.id);
        }
        match renewed? {
            Some(renewed) => Ok(renewed),
            None if kept.is_overdue() => Err(Refused::Cannot(Failure::Unavailable(format!(
                "The identity provider '{}' does not confirm that the user is still logged in.",
                shown.provider
            )))),
            None => Ok(kept),
        }
    }

    /// Ends a session on all nodes.
    ///
    /// # Errors
    /// The first partition does not answer: the session still exists.
    pub async fn end(&self, shown: &Shown) -> Result<(), Refused> {
        let end = SessionCommand::EndSession {
            id: shown.id,
            revision: None,
        };
        self.ask(end).await.map_err(Refused::Cannot)?;
        self.known.forget(&shown.id);
        Ok(())
    }

    pub(super) async fn ask(&self, command: SessionCommand) -> Result<Response, Failure> {
        self.send(Request::internal(Command::Session(command)))
            .await
    }

    async fn send(&self, request: Request) -> Result<Response, Failure> {
        let reply = self.broker.execute(request);
        match tokio::time::timeout(ANSWER, reply).await {
            Ok(answer) => answer.result.map_err(not_in_doubt),
            Err(_) => Err(no_answer()),
        }
    }

    /// Counts the failure, and logs it unless that happened recently.
    pub(super) fn cannot_ask(&self, provider: &str, why: &str) {
        self.refreshes.unanswered.inc();
        let now = now();
        let last = self.logged.load(Ordering::Relaxed);
        let is_first = now.saturating_sub(last) >= LOGGED
            && self
                .logged
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if is_first {
            tracing::warn!(
                provider,
                why,
                "an identity provider does not refresh the tokens of a session"
            );
        }
    }
}

#[cfg(test)]
mod tests;
