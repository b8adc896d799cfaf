//! Renewal of a session whose provider must be asked again: a single node does so, and shows the refresh token once.
//!
//! Providers that rotate refresh tokens end a login whose token is shown twice. So the node claims the session in the first
//! partition before it asks, and replaces the token by compare-and-set. A claim expires, in case its node has died.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_identity::claims::Named;
use skep_oidc::{Refreshed, Refused as NotRenewed};
use skep_protocol::command::{SESSION_CLAIM, SessionCommand};
use skep_protocol::{Failure, Response};

use super::sessions::{Kept, Sessions, Shown};
use super::{Refused, Scheme};

/// After this time the provider is not asked any more: its answer could arrive after the claim has expired.
const LATE: Duration = Duration::from_millis(SESSION_CLAIM as u64 / 3);
/// An answer that arrives later than this is no longer stored.
const TOO_LATE: Duration = Duration::from_millis(SESSION_CLAIM as u64);
/// Between two attempts to store it.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Renewal {
    pub sessions: Arc<Sessions>,
    pub shown: Shown,
    pub revision: u64,
    /// The token claims that rules currently use.
    pub rules: Arc<Named>,
}

impl Renewal {
    /// The session from now on. `None`: unknown for the moment.
    ///
    /// # Errors
    /// It has ended.
    pub async fn run(self) -> Result<Option<Kept>, Refused> {
        let began = Instant::now();
        let claim = SessionCommand::ClaimSession {
            id: self.shown.id,
            revision: self.revision,
        };
        let row = match self.sessions.ask(claim).await {
            Ok(Response::Session(row)) => row.ok_or_else(ended)?,
            Ok(Response::SessionClaimed) => return self.by_another().await,
            Ok(_) | Err(_) => return Ok(None),
        };
        let kept = self.shown.open(&row.sealed).ok_or_else(ended)?;
        let Some(lasting) = kept.lasting.as_ref().filter(|_| began.elapsed() < LATE) else {
            return Ok(None);
        };
        let providers = &self.sessions.providers;
        let provider = &self.shown.provider;
        let asked = providers.refresh(provider, &lasting.refresh_token, &lasting.subject);
        match asked.await {
            Ok(refreshed) => self.store(&kept, refreshed, began).await,
            Err(NotRenewed::Wrong(why)) => self.end(&why).await,
            Err(NotRenewed::Unknown(why)) => {
                self.sessions.cannot_ask(provider, &why);
                Ok(None)
            }
        }
    }

    async fn store(
        &self,
        kept: &Kept,
        refreshed: Refreshed,
        began: Instant,
    ) -> Result<Option<Kept>, Refused> {
        let mut next = match refreshed.said {
            Ok(None) => kept.clone(),
            Ok(Some(verified)) => match kept.with(&verified, &self.rules) {
                Some(next) => next,
                None => return self.end("the provider now names another user").await,
            },
            Err(NotRenewed::Wrong(why)) => return self.end(&why).await,
            // The refresh token is kept nevertheless: the previous one may be invalid now.
            Err(NotRenewed::Unknown(why)) => {
                self.sessions.cannot_ask(&self.shown.provider, &why);
                return self
                    .replace(kept.clone(), refreshed.refresh_token, began)
                    .await;
            }
        };
        self.sessions.refreshes.renewed.inc();
        if let Some(lasting) = &mut next.lasting {
            lasting.expires = refreshed.expires;
        }
        self.replace(next, refreshed.refresh_token, began).await
    }

    /// Stores the renewed session, as long as the claim lasts.
    async fn replace(
        &self,
        mut next: Kept,
        token: Option<impl AsRef<str>>,
        began: Instant,
    ) -> Result<Option<Kept>, Refused> {
        if let (Some(lasting), Some(token)) = (&mut next.lasting, token) {
            lasting.refresh_token = token.as_ref().to_string();
        }
        let Some(sealed) = self.shown.close(&next) else {
            return self.end("the user has too many groups or claims").await;
        };
        while began.elapsed() < TOO_LATE {
            let renew = SessionCommand::RenewSession {
                id: self.shown.id,
                revision: self.revision,
                sealed: sealed.clone(),
            };
            match self.sessions.ask(renew).await {
                Ok(_) => return Ok(Some(next).filter(|next| !next.is_due())),
                // It may be stored already, and the answer was lost; or the session was ended meanwhile.
                Err(Failure::Rejected(_)) => return self.by_another().await,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        Ok(None)
    }

    /// Another node is asking, or has asked: returns the session as that node left it.
    async fn by_another(&self) -> Result<Option<Kept>, Refused> {
        let Ok(row) = self.sessions.used(self.shown.id).await else {
            return Ok(None);
        };
        let (_, sealed) = row.ok_or_else(ended)?;
        let kept = self.shown.open(&sealed).ok_or_else(ended)?;
        Ok(Some(kept).filter(|kept| !kept.is_due()))
    }

    /// Ends the session, as the provider no longer knows the login.
    async fn end(&self, why: &str) -> Result<Option<Kept>, Refused> {
        self.sessions.refreshes.ended.inc();
        tracing::info!(
            provider = self.shown.provider,
            why,
            "a session ends: its login at the identity provider has ended"
        );
        let end = SessionCommand::EndSession {
            id: self.shown.id,
            // Not if another node has renewed it.
            revision: Some(self.revision),
        };
        match self.sessions.ask(end).await {
            Ok(_) => self.by_another().await,
            Err(_) => Err(ended()),
        }
    }
}

fn ended() -> Refused {
    Refused::NoSession(Scheme::Bearer)
}
