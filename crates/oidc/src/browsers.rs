//! How browsers log in: at the provider, which sends them back with a code that this server redeems (OpenID Connect Core 1.0, section 3.1;
//! RFC 7636 binds the code to who asked for it).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use form_urlencoded::{Serializer, byte_serialize};
use http::{HeaderValue, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::provider::{Provider, Reader, SettingsError};
use crate::{Refused, wrong};

/// What this server and the provider know, and nobody else. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(Zeroizing<String>);

impl ClientSecret {
    pub fn new(text: String) -> ClientSecret {
        ClientSecret(Zeroizing::new(text))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientSecret")
    }
}

/// As configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSettings {
    /// What people read.
    pub client_name: Option<String>,
    pub client_id: String,
    pub client_secret: ClientSecret,
    pub scope: Vec<String>,
    /// Where the provider sends browsers back to; `None`: where they came from.
    pub redirect_uri: Option<String>,
    /// Instead of what its discovery document says.
    pub authorization_uri: Option<String>,
    pub token_uri: Option<String>,
    pub end_session_uri: Option<String>,
    /// Who logs out here logs out there.
    pub logs_out_there: bool,
}

impl BrowserSettings {
    /// What counts unless something else is configured.
    pub fn new(client_id: &str, client_secret: &str) -> BrowserSettings {
        BrowserSettings {
            client_name: None,
            client_id: client_id.to_string(),
            client_secret: ClientSecret::new(client_secret.to_string()),
            scope: vec!["openid".to_string(), "profile".to_string()],
            redirect_uri: None,
            authorization_uri: None,
            token_uri: None,
            end_session_uri: None,
            logs_out_there: true,
        }
    }
}

/// A provider that people can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    pub id: String,
    pub name: String,
}

/// A login that has begun. Its browser keeps it, sealed, until it is back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub provider: String,
    /// What the provider sends back with the code.
    pub state: String,
    /// What the token has to say.
    pub nonce: String,
    /// What the code is redeemed with.
    verifier: String,
    redirect_uri: String,
}

#[derive(Debug)]
pub(crate) struct Browsers {
    settings: BrowserSettings,
    authorization: Option<Uri>,
    token: Option<Uri>,
}

#[derive(Deserialize)]
struct Redeemed {
    id_token: String,
}

impl Browsers {
    pub(crate) fn new(
        settings: &BrowserSettings,
        reader: &Reader<'_>,
    ) -> Result<Browsers, SettingsError> {
        let uri = |name, uri: &Option<String>| {
            let uri = uri.as_ref().map(|uri| reader.uri(name, uri));
            uri.transpose()
        };
        uri("redirect-uri", &settings.redirect_uri)?;
        uri("end-session-endpoint-uri", &settings.end_session_uri)?;
        Ok(Browsers {
            authorization: uri("authorization-uri", &settings.authorization_uri)?,
            token: uri("token-uri", &settings.token_uri)?,
            settings: settings.clone(),
        })
    }

    pub(crate) fn needs_discovery(&self) -> bool {
        self.authorization.is_none() || self.token.is_none()
    }

    pub(crate) fn secret(&self) -> &ClientSecret {
        &self.settings.client_secret
    }

    pub(crate) fn way(&self, name: &str) -> Way {
        let shown = self.settings.client_name.as_deref().unwrap_or(name);
        Way {
            id: name.to_string(),
            name: shown.to_string(),
        }
    }

    pub(crate) fn begin(
        &self,
        provider: &Provider,
        here: &str,
    ) -> Result<(String, Attempt), Refused> {
        let said = provider.keys.endpoints();
        let said = said.authorization_endpoint.as_ref();
        let configured = self.authorization.as_ref().map(Uri::to_string);
        let place = configured.or_else(|| said.cloned());
        let place = place.ok_or_else(|| silent(provider))?;
        let redirect_uri = self.settings.redirect_uri.as_deref();
        let attempt = Attempt {
            provider: provider.name.clone(),
            state: chance()?,
            nonce: chance()?,
            verifier: chance()?,
            redirect_uri: redirect_uri.unwrap_or(here).to_string(),
        };
        let challenge = digest(&SHA256, attempt.verifier.as_bytes());
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("scope", &self.settings.scope.join(" "))
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256")
            .finish();
        Ok((with_query(&place, &query), attempt))
    }

    /// The token that says who has logged in.
    pub(crate) async fn redeem(
        &self,
        provider: &Provider,
        attempt: &Attempt,
        code: &str,
    ) -> Result<String, Refused> {
        let said = provider.keys.endpoints();
        let said = said.token_endpoint.as_ref().and_then(|it| it.parse().ok());
        let place = self.token.clone().or(said);
        let place: Uri = place.ok_or_else(|| silent(provider))?;
        let form = Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("code_verifier", &attempt.verifier)
            .finish();
        let answer = provider
            .fetcher
            .post(&place, Some(self.authorization()?), form)
            .await;
        let answer = answer.map_err(|why| {
            tracing::warn!(provider = provider.name, %why, "an identity provider does not redeem the code of a login");
            Refused::Wrong(
                "The identity provider does not say who has logged in. Log in again.".to_string(),
            )
        })?;
        let redeemed: Redeemed = serde_json::from_slice(&answer)
            .map_err(|_| wrong("there is none in what the issuer answers (id_token)"))?;
        Ok(redeemed.id_token)
    }

    /// Whether an ID token was made for this server (OpenID Connect Core 1.0, section 3.1.3.7), whatever audiences are configured.
    pub(crate) fn is_for(&self, claims: &Map<String, Value>) -> bool {
        let is_us = |value: &Value| value.as_str() == Some(&self.settings.client_id);
        match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_us),
            Some(one) => is_us(one),
            None => false,
        }
    }

    /// This server, as the provider knows it (RFC 6749, section 2.3.1).
    fn authorization(&self) -> Result<HeaderValue, Refused> {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let id = encoded(&self.settings.client_id);
        let secret = Zeroizing::new(encoded(self.settings.client_secret.reveal()));
        let pair = Zeroizing::new(format!("{id}:{}", *secret));
        let text = format!("Basic {}", STANDARD.encode(pair.as_bytes()));
        let value = HeaderValue::try_from(text);
        let mut value =
            value.map_err(|_| Refused::Unknown("The client's id is no text.".into()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    pub(crate) fn end(&self, provider: &Provider, here: &str) -> Option<String> {
        if !self.settings.logs_out_there {
            return None;
        }
        let configured = self.settings.end_session_uri.clone();
        let said = provider.keys.endpoints();
        let place = configured.or_else(|| said.end_session_endpoint.clone())?;
        let behind_proxy = self.settings.redirect_uri.as_ref();
        let behind_proxy = behind_proxy.and_then(|uri| uri.strip_suffix("/sso-callback"));
        let here = match (behind_proxy, here.rsplit_once('/')) {
            (Some(base), Some((_, last))) => format!("{base}/{last}"),
            _ => here.to_string(),
        };
        let query = Serializer::new(String::new())
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("post_logout_redirect_uri", &here)
            .finish();
        Some(with_query(&place, &query))
    }
}

fn with_query(place: &str, query: &str) -> String {
    let separator = if place.contains('?') { '&' } else { '?' };
    format!("{place}{separator}{query}")
}

fn silent(provider: &Provider) -> Refused {
    Refused::Unknown(format!(
        "The identity provider '{}' has not said yet where logins go. Try again.",
        provider.name
    ))
}

/// 256 bits that nobody can guess, as text.
fn chance() -> Result<String, Refused> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| Refused::Unknown("The system gives no random numbers.".to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
