//! Logins of users with a browser, and later checks with the provider, as long as the login lasts there.

use std::time::SystemTime;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::browsers::{Browsers, Redeemed};
use crate::provider::Provider;
use crate::{Attempt, Providers, Refused, Verified, nobody, wrong};

/// Minimum validity of a provider's data, in seconds, so that a provider whose tokens expire at once is not asked all the time.
const LEAST_LIFE: u64 = 1;

/// A user who has logged in.
pub struct LoggedIn {
    pub verified: Verified,
    /// `None`: the provider gives no refresh token.
    pub lasting: Option<Lasting>,
}

/// Data for later refreshes.
pub struct Lasting {
    pub refresh_token: Zeroizing<String>,
    /// The provider's permanent id of the user (`sub`).
    pub subject: String,
    /// When the provider's data expires, in seconds since 1970.
    pub expires: u64,
}

/// Outcome of using a valid refresh token.
pub struct Refreshed {
    /// The provider's current data about the user; `None` if it sends no new ID token, which is optional.
    pub said: Result<Option<Verified>, Refused>,
    /// Replaces the token that was used, which may be invalid now. `None`: that one stays valid.
    pub refresh_token: Option<Zeroizing<String>>,
    pub expires: u64,
}

impl Providers {
    /// Completes the login of a browser that is back with a code.
    ///
    /// # Errors
    /// The login failed, or the provider does not answer.
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
        let unanswered = |_| {
            Refused::Wrong(
                "The identity provider did not identify the user. Log in again.".to_string(),
            )
        };
        let by = (provider, browsers);
        let verified = self.said(by, &redeemed, is_ours, unanswered).await?;
        let none = || wrong("the answer of the issuer has none (id_token)");
        let verified = verified.ok_or_else(none)?;
        let subject = verified.claims.get("sub").and_then(Value::as_str);
        let subject = subject.map(ToString::to_string);
        let expires = expiry(&redeemed, Some(&verified));
        // A user without `sub` could be another one later.
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

    /// Uses a refresh token of a user to get the provider's current data. `name`: of the provider.
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

    /// The user named by the tokens, if they are for this purpose. If the provider does not answer with more about the user,
    /// `unanswered` makes the error. `None`: there is no ID token among them.
    async fn said(
        &self,
        (provider, browsers): (&Provider, &Browsers),
        redeemed: &Redeemed,
        is_ours: impl FnOnce(&Map<String, Value>) -> Result<(), Refused>,
        unanswered: impl FnOnce(String) -> Refused,
    ) -> Result<Option<Verified>, Refused> {
        let Some(id_token) = &redeemed.id_token else {
            return Ok(None);
        };
        let (mut token, position, signer) = self.read(id_token)?;
        // No other provider may say who has logged in at this one (OpenID Connect Core 1.0, section 3.1.3.7).
        if signer.name != provider.name {
            return Err(wrong("its issuer (iss) is not the provider of the login"));
        }
        let generation = signer.has_signed(&token).await?;
        if !browsers.is_for(&token.claims) {
            return Err(wrong("it was made for another client (aud)"));
        }
        is_ours(&token.claims)?;
        let more = browsers.user_info(provider, redeemed, &token.claims);
        let more = more.await.map_err(|refused| {
            let (Refused::Wrong(why) | Refused::Unknown(why)) = refused;
            if browsers.warned.is_due() {
                tracing::warn!(provider = provider.name, %why, "an identity provider returned no user info for a user who has logged in");
            }
            unanswered(why)
        });
        for (name, value) in more? {
            // Signed claims take precedence.
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
