//! Who has logged in with a browser, and what the provider says of the user later, as long as the login lasts there.

use std::time::SystemTime;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::browsers::{Browsers, Redeemed};
use crate::provider::Provider;
use crate::{Attempt, Providers, Refused, Verified, nobody, wrong};

/// Seconds that what a provider said counts at least, so that one whose tokens are good for no time is not asked all the time.
const LEAST_LIFE: u64 = 1;

/// Somebody who has logged in.
pub struct LoggedIn {
    pub verified: Verified,
    /// `None`: the provider gives no refresh token.
    pub lasting: Option<Lasting>,
}

/// What more is asked for with later.
pub struct Lasting {
    pub refresh_token: Zeroizing<String>,
    /// The user as the provider names it for good (`sub`).
    pub subject: String,
    /// When what the provider said counts no longer, in seconds since 1970.
    pub expires: u64,
}

/// What came of a refresh token that was good.
pub struct Refreshed {
    /// What the provider says of the user now; nothing where it gives no new ID token, which it need not.
    pub said: Result<Option<Verified>, Refused>,
    /// The one that takes the place of the shown one, which may be worth nothing now. `None`: that one stays.
    pub refresh_token: Option<Zeroizing<String>>,
    pub expires: u64,
}

impl Providers {
    /// The browser is back with a code: who has logged in.
    ///
    /// # Errors
    /// Nobody has, or the provider does not say so.
    pub async fn finish(&self, attempt: &Attempt, code: &str) -> Result<LoggedIn, Refused> {
        let (provider, browsers) = self
            .of_browsers(&attempt.provider)
            .ok_or_else(|| nobody(&attempt.provider))?;
        let mut redeemed = browsers.redeem(provider, attempt, code).await?;
        let is_ours = |claims: &Map<String, Value>| {
            let nonce = claims.get("nonce").and_then(Value::as_str);
            match nonce {
                Some(nonce) if nonce == attempt.nonce => Ok(()),
                _ => Err(wrong("it was made for another login (nonce)")),
            }
        };
        let unheard = |_| {
            Refused::Wrong(
                "The identity provider does not say who has logged in. Log in again.".to_string(),
            )
        };
        let by = (provider, browsers);
        let verified = self.said(by, &redeemed, is_ours, unheard).await?;
        let none = || wrong("there is none in what the issuer answers (id_token)");
        let verified = verified.ok_or_else(none)?;
        let subject = verified.claims.get("sub").and_then(Value::as_str);
        let subject = subject.map(ToString::to_string);
        let expires = expiry(&redeemed, Some(&verified));
        // Who has no `sub` could be somebody else later.
        let lasting = redeemed.refresh_token().zip(subject);
        Ok(LoggedIn {
            verified,
            lasting: lasting.map(|(refresh_token, subject)| Lasting {
                refresh_token,
                subject,
                expires,
            }),
        })
    }

    /// Shows a refresh token of a user: what the provider says now. `name`: of the provider.
    ///
    /// # Errors
    /// [`Refused::Wrong`]: the provider has ended the login. [`Refused::Unknown`]: it does not say.
    pub async fn refresh(
        &self,
        name: &str,
        refresh_token: &str,
        subject: &str,
    ) -> Result<Refreshed, Refused> {
        let (provider, browsers) = self.of_browsers(name).ok_or_else(|| nobody(name))?;
        let mut redeemed = browsers.refresh(provider, refresh_token).await?;
        let is_same = |claims: &Map<String, Value>| {
            // OpenID Connect Core 1.0, section 12.2.
            if claims.get("sub").and_then(Value::as_str) == Some(subject) {
                Ok(())
            } else {
                Err(wrong("it names another user than the login (sub)"))
            }
        };
        let by = (provider, browsers);
        let said = self.said(by, &redeemed, is_same, Refused::Unknown).await;
        let verified = said.as_ref().ok().and_then(Option::as_ref);
        Ok(Refreshed {
            expires: expiry(&redeemed, verified),
            said,
            refresh_token: redeemed.refresh_token(),
        })
    }

    /// Whom the tokens name, if they are for this purpose; where the provider does not answer more of the user, `unheard` says what that
    /// means. `None`: there is no ID token among them.
    async fn said(
        &self,
        (provider, browsers): (&Provider, &Browsers),
        redeemed: &Redeemed,
        is_ours: impl FnOnce(&Map<String, Value>) -> Result<(), Refused>,
        unheard: impl FnOnce(String) -> Refused,
    ) -> Result<Option<Verified>, Refused> {
        let Some(id_token) = &redeemed.id_token else {
            return Ok(None);
        };
        let (mut token, position, signer) = self.read(id_token)?;
        let generation = signer.has_signed(&token).await?;
        if !browsers.is_for(&token.claims) {
            return Err(wrong("it was made for another client (aud)"));
        }
        is_ours(&token.claims)?;
        let more = browsers.user_info(provider, redeemed, &token.claims);
        let more = more.await.map_err(|refused| {
            let (Refused::Wrong(why) | Refused::Unknown(why)) = refused;
            tracing::warn!(provider = provider.name, %why, "an identity provider does not say more of a user who has logged in");
            unheard(why)
        });
        for (name, value) in more? {
            // What was signed counts more.
            token.claims.entry(name).or_insert(value);
        }
        let verified = signer.caller(token, position, generation)?;
        self.is_in_time(&verified, SystemTime::now())?;
        Ok(Some(verified))
    }
}

fn expiry(redeemed: &Redeemed, verified: Option<&Verified>) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    let said = redeemed.lives().map(|lives| now.saturating_add(lives));
    let signed = verified.map(|verified| verified.expires);
    let expires = said.or(signed).unwrap_or_default();
    expires.max(now.saturating_add(LEAST_LIFE))
}
