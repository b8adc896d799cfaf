//! One provider: the tokens accepted from it, and the callers they name.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use serde_json::{Map, Value};

use crate::browsers::{BrowserSettings, Browsers};
use crate::claim::Claim;
use crate::fetch::Fetcher;
use crate::keys::{Keys, Places};
use crate::token::Unverified;
use crate::{Kind, Refused, Verified, wrong};

/// Maximum number of keys to try on a token that names none.
const MAX_TRIED: usize = 16;

/// As configured (`camunda.security.authentication.oidc.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Its name in logs and errors.
    pub name: String,
    /// Compared with the token's `iss`, byte for byte.
    pub issuer_uri: String,
    /// Where its keys are; `None`: as in its discovery document.
    pub jwk_set_uri: Option<String>,
    /// Further keys, after its own.
    pub additional_jwk_set_uris: Vec<String>,
    /// A token must be for one of these (`aud`); if empty, any audience is accepted.
    pub audiences: Vec<String>,
    pub username_claim: String,
    pub client_id_claim: Option<String>,
    /// The source of a token's groups; `None`: groups are managed in the cluster.
    pub groups_claim: Option<String>,
    /// If a token has both claims, it names a user.
    pub prefer_username_claim: bool,
    pub clock_skew: Duration,
    /// How browsers log in there; `None`: they cannot.
    pub browsers: Option<BrowserSettings>,
}

impl ProviderSettings {
    /// The default settings.
    pub fn new(name: &str, issuer_uri: &str) -> ProviderSettings {
        ProviderSettings {
            name: name.to_string(),
            issuer_uri: issuer_uri.to_string(),
            jwk_set_uri: None,
            additional_jwk_set_uris: Vec::new(),
            audiences: Vec::new(),
            username_claim: "sub".to_string(),
            client_id_claim: None,
            groups_claim: None,
            prefer_username_claim: false,
            clock_skew: Duration::from_secs(60),
            browsers: None,
        }
    }
}

/// An invalid setting.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{setting} of the provider {provider}: '{value}' {why}")]
    Value {
        provider: String,
        setting: &'static str,
        value: String,
        why: String,
    },
    #[error("authentication of this server at the provider {provider}: {why}")]
    Key { provider: String, why: String },
    #[error("the certificates that this machine trusts cannot be read: {0}")]
    Certificates(std::io::Error),
}

#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) fetcher: Fetcher,
    pub(crate) issuer: String,
    pub(crate) keys: Keys,
    /// Seconds.
    pub(crate) skew: u64,
    audiences: Vec<String>,
    username: Claim,
    client_id: Option<Claim>,
    groups: Option<Claim>,
    prefers_user: bool,
    pub(crate) browsers: Option<Browsers>,
}

impl Provider {
    pub(crate) fn start(settings: &ProviderSettings) -> Result<Provider, SettingsError> {
        let reader = Reader(&settings.name);
        let issuer = reader.uri("issuer-uri", &settings.issuer_uri)?;
        let own = settings.jwk_set_uri.as_ref();
        let own = own.map(|uri| reader.uri("jwk-set-uri", uri)).transpose()?;
        let browsers = settings.browsers.as_ref();
        let browsers = browsers.map(|it| Browsers::new(it, &reader)).transpose()?;
        let additional = settings.additional_jwk_set_uris.iter();
        let additional = additional.map(|uri| reader.uri("additional-jwk-set-uris", uri));
        let places = Places {
            issuer: settings.issuer_uri.clone(),
            discovery: discovery(&issuer),
            own,
            endpoints: browsers.as_ref().is_some_and(Browsers::needs_discovery),
            additional: additional.collect::<Result<_, _>>()?,
        };
        let claim = |name, text: &Option<String>| {
            let claim = text.as_ref().map(|text| reader.claim(name, text));
            claim.transpose()
        };
        let is_clear = places.all().any(|place| !is_private(place));
        let fetcher = Fetcher::new().map_err(SettingsError::Certificates)?;
        let provider = Provider {
            name: settings.name.clone(),
            browsers,
            issuer: settings.issuer_uri.clone(),
            username: reader.claim("username-claim", &settings.username_claim)?,
            client_id: claim("client-id-claim", &settings.client_id_claim)?,
            groups: claim("groups-claim", &settings.groups_claim)?,
            prefers_user: settings.prefer_username_claim,
            audiences: settings.audiences.clone(),
            skew: settings.clock_skew.as_secs(),
            keys: Keys::start(&settings.name, places, fetcher.clone()),
            fetcher,
        };
        if provider.audiences.is_empty() {
            tracing::warn!(
                provider = settings.name,
                "no audiences are configured: tokens that this provider issued for other servers are accepted, too"
            );
        }
        if is_clear {
            tracing::warn!(
                provider = settings.name,
                "the keys of this provider are fetched without TLS: anyone between it and this server can forge tokens. Use https in its \
                 URIs"
            );
        }
        Ok(provider)
    }

    /// Verifies the signature. Returns the generation of the keys that made it.
    pub(crate) async fn has_signed(&self, token: &Unverified<'_>) -> Result<u64, Refused> {
        let id = token.key_id.as_deref();
        let (keys, generation) = self.keys.with(id, token.algorithm).await?;
        let mut fitting = keys.fitting(id, token.algorithm).take(MAX_TRIED);
        if fitting.any(|key| token.is_signed_by(key)) {
            Ok(generation)
        } else {
            Err(wrong("its signature is not that of its issuer"))
        }
    }

    /// The caller named by a token that the provider has signed.
    pub(crate) fn caller(
        &self,
        token: Unverified<'_>,
        provider: usize,
        generation: u64,
    ) -> Result<Verified, Refused> {
        let claims = token.claims;
        self.is_for_us(&claims)?;
        let expires = seconds(&claims, "exp")?;
        let expires = expires.ok_or_else(|| wrong("it has no expiry time (exp)"))?;
        let not_before = seconds(&claims, "nbf")?.unwrap_or_default();
        let (kind, id) = self.principal(&claims)?;
        let groups = self.groups.as_ref();
        let groups = groups.map(|claim| groups_of(claim, &claims)).transpose()?;
        Ok(Verified {
            kind,
            id: id.into(),
            groups,
            claims: Arc::new(claims),
            provider,
            generation,
            expires,
            not_before,
        })
    }

    fn is_for_us(&self, claims: &Map<String, Value>) -> Result<(), Refused> {
        let given = claims.get("aud");
        let is_ours = |value: &Value| {
            let text = value.as_str();
            text.is_some_and(|text| self.audiences.iter().any(|ours| ours == text))
        };
        let is_for_us = match given {
            _ if self.audiences.is_empty() => true,
            Some(Value::Array(all)) => all.iter().any(is_ours),
            Some(one) => is_ours(one),
            None => false,
        };
        if is_for_us {
            return Ok(());
        }
        let given = given.map_or_else(|| "nobody".to_string(), ToString::to_string);
        Err(wrong(&format!(
            "it is for {given} (aud), but this server accepts tokens for one of {:?}",
            self.audiences
        )))
    }

    fn principal(&self, claims: &Map<String, Value>) -> Result<(Kind, String), Refused> {
        let user = (Kind::User, Some(&self.username));
        let client = (Kind::Client, self.client_id.as_ref());
        let order = if self.prefers_user {
            [user, client]
        } else {
            [client, user]
        };
        for (kind, claim) in order {
            let Some(claim) = claim else {
                continue;
            };
            match claim.find(claims) {
                Some(Value::String(id)) if !id.is_empty() => return Ok((kind, id)),
                Some(Value::String(_)) | None => {}
                Some(_) => {
                    return Err(wrong(&format!(
                        "the principals could not be loaded: its claim '{}' is not a string",
                        claim.text()
                    )));
                }
            }
        }
        let client = self
            .client_id
            .as_ref()
            .map_or("not configured", Claim::text);
        Err(wrong(&format!(
            "it names neither a user (claim '{}') nor a client (claim '{client}')",
            self.username.text()
        )))
    }
}

fn groups_of(claim: &Claim, claims: &Map<String, Value>) -> Result<Vec<Arc<str>>, Refused> {
    let found = match claim.find(claims) {
        None => return Ok(Vec::new()),
        Some(Value::Array(found)) => found,
        Some(_) => Vec::from([Value::Null]),
    };
    let groups = found.iter().map(|group| group.as_str().map(Arc::from));
    groups.collect::<Option<Vec<_>>>().ok_or_else(|| {
        wrong(&format!(
            "the principals could not be loaded: its claim '{}' is not a list of strings",
            claim.text()
        ))
    })
}

/// A time of the token; fractions are allowed (RFC 7519, section 2).
fn seconds(claims: &Map<String, Value>, name: &str) -> Result<Option<u64>, Refused> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value.as_f64().filter(|it| *it >= 0.0);
    let seconds = seconds.ok_or_else(|| wrong(&format!("its claim '{name}' is not a time")))?;
    Ok(Some(seconds as u64))
}

/// Where a provider describes itself (OpenID Connect Discovery 1.0, section 4).
fn discovery(issuer: &Uri) -> Uri {
    let text = issuer.to_string();
    let text = format!(
        "{}/.well-known/openid-configuration",
        text.trim_end_matches('/')
    );
    text.parse().unwrap_or_else(|_| issuer.clone())
}

/// Whether nobody else can answer there: because of TLS, or because it is this machine.
pub(crate) fn is_private(place: &Uri) -> bool {
    let host = place.host().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
    is_here || place.scheme_str() == Some("https")
}

/// Reads the settings of the provider of this name.
pub(crate) struct Reader<'p>(&'p str);

impl Reader<'_> {
    pub(crate) fn uri(&self, setting: &'static str, text: &str) -> Result<Uri, SettingsError> {
        let uri = text.parse::<Uri>().map_err(|error| error.to_string());
        uri.and_then(|uri| match uri.scheme_str() {
            Some("http" | "https") => Ok(uri),
            _ => Err("does not begin with https://".to_string()),
        })
        .map_err(|why| self.error(setting, text, why))
    }

    fn claim(&self, setting: &'static str, text: &str) -> Result<Claim, SettingsError> {
        Claim::new(text).map_err(|why| self.error(setting, text, format!("is no path: {why}")))
    }

    pub(crate) fn key(&self, why: String) -> SettingsError {
        let provider = self.0.to_string();
        SettingsError::Key { provider, why }
    }

    fn error(&self, setting: &'static str, value: &str, why: String) -> SettingsError {
        SettingsError::Value {
            provider: self.0.to_string(),
            setting,
            value: value.to_string(),
            why,
        }
    }
}
