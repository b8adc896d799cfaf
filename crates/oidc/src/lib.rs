//! OpenID Connect (OIDC): verifies tokens with the keys of the provider that issued them.
//!
//! Keys are fetched in the background and kept, so that a token is checked on the spot, and a provider that is away for a
//! while blocks nobody whose token is valid. An invalid token is [`Refused::Wrong`]; one that cannot be checked, because its
//! key is missing and the provider does not answer, is [`Refused::Unknown`]: its sender should keep it and ask again.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod assertion;
mod browsers;
mod claim;
mod client_credentials;
mod fetch;
mod key_set;
mod keys;
mod last_good;
mod logins;
mod pace;
mod provider;
mod token;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

pub use assertion::{AssertionSettings, Digest, Encoding, KeyId, Source};
pub use browsers::{Attempt, BrowserSettings, ClientProof, ClientSecret, OWN_PARAMETERS, Way};
pub use client_credentials::{ClientCredentials, Given};
pub use logins::{Lasting, LoggedIn, Refreshed};
pub use provider::{ProviderSettings, SettingsError};

use browsers::Browsers;
use provider::Provider;
use token::Unverified;

/// Why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is invalid, and will stay so.
    Wrong(String),
    /// It cannot be decided now.
    Unknown(String),
}

/// Kind of caller that a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    User,
    Client,
}

/// A token whose signature was valid.
#[derive(Clone, Debug)]
pub struct Verified {
    pub kind: Kind,
    /// User name or client id.
    pub id: Arc<str>,
    /// Groups that the token names; `None`: groups are managed in the cluster.
    pub groups: Option<Vec<Arc<str>>>,
    pub claims: Arc<Map<String, Value>>,
    /// Position of the provider.
    provider: usize,
    /// Generation of the provider's keys at that time.
    generation: u64,
    /// Seconds since 1970.
    expires: u64,
    not_before: u64,
}

/// The providers whose tokens are accepted.
#[derive(Debug)]
pub struct Providers(Vec<Provider>);

impl Providers {
    /// Begins to fetch keys. Has to be called in a runtime.
    ///
    /// # Errors
    /// A setting cannot be carried out.
    pub fn start(settings: &[ProviderSettings]) -> Result<Providers, SettingsError> {
        let providers = settings.iter().map(Provider::start);
        Ok(Providers(providers.collect::<Result<_, _>>()?))
    }

    /// The caller that a token names. `now`: when it came in.
    ///
    /// # Errors
    /// It is not accepted.
    pub async fn verify(&self, token: &str, now: SystemTime) -> Result<Verified, Refused> {
        let (unverified, position, provider) = self.read(token)?;
        let generation = provider.has_signed(&unverified).await?;
        let verified = provider.caller(unverified, position, generation)?;
        self.is_in_time(&verified, now)?;
        Ok(verified)
    }

    /// A token, and the provider that it names with its position.
    fn read<'t>(&self, token: &'t str) -> Result<(Unverified<'t>, usize, &Provider), Refused> {
        let unverified = Unverified::read(token)?;
        let issuer = unverified.issuer()?;
        let found = self.0.iter().enumerate();
        let mut found = found.filter(|(_, provider)| provider.issuer == issuer);
        match found.next() {
            Some((position, provider)) => Ok((unverified, position, provider)),
            None => Err(wrong(
                "its issuer (iss) is not one that this server accepts",
            )),
        }
    }

    /// Whether a token that was valid still is: it has not expired, and its provider has not withdrawn a key since.
    ///
    /// # Errors
    /// It has expired.
    pub fn is_still(&self, verified: &Verified, now: SystemTime) -> Result<bool, Refused> {
        self.is_in_time(verified, now)?;
        let provider = self.0.get(verified.provider);
        Ok(provider.is_some_and(|provider| provider.keys.generation() == verified.generation))
    }

    /// How long ago all keys of each provider were fetched, by its name; those that never were are left out.
    pub fn keys_ages(&self) -> impl Iterator<Item = (&str, Duration)> {
        let ages = self.0.iter();
        ages.filter_map(|provider| Some((&*provider.name, provider.keys.age()?)))
    }

    /// Whether each provider returned all its keys at the last request, by its name; one that was not asked yet is left out.
    pub fn given_keys(&self) -> impl Iterator<Item = (&str, bool)> {
        let all = self.0.iter();
        all.filter_map(|provider| Some((&*provider.name, provider.keys.are_given()?)))
    }

    /// Where browsers can log in.
    pub fn ways(&self) -> Vec<Way> {
        let ways = self.0.iter().filter_map(|provider| {
            let browsers = provider.browsers.as_ref()?;
            Some(browsers.way(&provider.name))
        });
        ways.collect()
    }

    fn of_browsers(&self, name: &str) -> Option<(&Provider, &Browsers)> {
        let provider = self.0.iter().find(|provider| provider.name == name)?;
        Some((provider, provider.browsers.as_ref()?))
    }

    /// The secret that this server and its nodes share with a provider only.
    pub fn secret(&self, name: &str) -> Option<&ClientSecret> {
        let (_, browsers) = self.of_browsers(name)?;
        Some(browsers.secret())
    }

    /// Begins a login. Returns the address to send the browser to. `here`: where it comes back to, unless that is configured.
    ///
    /// # Errors
    /// There is no such provider, or its login address is still unknown.
    pub fn begin(&self, name: &str, here: &str) -> Result<(String, Attempt), Refused> {
        let (provider, browsers) = self.of_browsers(name).ok_or_else(|| nobody(name))?;
        browsers.begin(provider, here)
    }

    /// The address where a browser ends its session at the provider, too.
    pub fn end(&self, name: &str, here: &str) -> Option<String> {
        let (provider, browsers) = self.of_browsers(name)?;
        browsers.end(provider, here)
    }

    fn is_in_time(&self, verified: &Verified, now: SystemTime) -> Result<(), Refused> {
        let skew = self.0.get(verified.provider).map_or(0, |it| it.skew);
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        if now >= verified.expires.saturating_add(skew) {
            let since = now - verified.expires;
            return Err(wrong(&format!("it expired {since} s ago")));
        }
        if now.saturating_add(skew) < verified.not_before {
            let until = verified.not_before - now;
            return Err(wrong(&format!("it is valid only in {until} s (nbf)")));
        }
        Ok(())
    }
}

fn nobody(name: &str) -> Refused {
    Refused::Wrong(format!(
        "There is no identity provider '{name}' for browser logins."
    ))
}

fn unknown(why: &str) -> Refused {
    Refused::Unknown(why.to_string())
}

fn wrong(why: &str) -> Refused {
    Refused::Wrong(format!(
        "The token is not valid: {why}. Send a valid token."
    ))
}
