//! Logins of browsers at the provider, which sends them back with a code that this server redeems (OpenID Connect Core 1.0,
//! section 3.1; RFC 7636 binds the code to its requester).

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use form_urlencoded::{Serializer, byte_serialize};
use http::{HeaderValue, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use zeroize::{Zeroize as _, Zeroizing};

use crate::assertion::{Assertion, AssertionSettings};
use crate::pace::Pace;
use crate::provider::{Provider, Reader, SettingsError};
use crate::token::is_flat_enough;
use crate::{Refused, wrong};

/// Codes that are redeemed at a time, and how long others wait: whoever has begun a login can come back from it many times at once, with
/// made-up codes, and the provider would take it for an attack by this server.
const MAX_LOGINS: usize = 32;
const PATIENCE: Duration = Duration::from_secs(5);

/// A secret known only to this server and the provider. It is shown nowhere.
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

/// How this server authenticates to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientProof {
    /// `client_secret_basic`
    Secret(ClientSecret),
    /// `private_key_jwt`
    Key(AssertionSettings),
}

/// As configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSettings {
    /// The name shown to people.
    pub client_name: Option<String>,
    pub client_id: String,
    pub proof: ClientProof,
    pub scope: Vec<String>,
    /// The servers that the access token is to be for (RFC 8707).
    pub resource: Vec<String>,
    /// Further parameters of the request by which a browser logs in: name and value.
    pub parameters: Vec<(String, String)>,
    /// Where the provider sends browsers back to; `None`: where they came from.
    pub redirect_uri: Option<String>,
    /// Overrides the one in the provider's discovery document.
    pub authorization_uri: Option<String>,
    pub token_uri: Option<String>,
    pub end_session_uri: Option<String>,
    /// Whether a logout here also logs out at the provider.
    pub logs_out_there: bool,
    /// Whether the provider is asked at a login for more about the user than its token says.
    pub user_info: bool,
}

impl BrowserSettings {
    /// The default settings.
    pub fn new(client_id: &str, client_secret: &str) -> BrowserSettings {
        BrowserSettings {
            client_name: None,
            client_id: client_id.to_string(),
            proof: ClientProof::Secret(ClientSecret::new(client_secret.to_string())),
            scope: vec!["openid".to_string(), "profile".to_string()],
            resource: Vec::new(),
            parameters: Vec::new(),
            redirect_uri: None,
            authorization_uri: None,
            token_uri: None,
            end_session_uri: None,
            logs_out_there: true,
            user_info: true,
        }
    }
}

/// Parameters of the request by which a browser logs in that belong to the protocol. Settings may not set them: a login would fail, or
/// lose what protects it.
pub const OWN_PARAMETERS: [&str; 12] = [
    "response_type",
    "response_mode",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
    "request",
    "request_uri",
    "resource",
];

/// A provider that people can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    pub id: String,
    pub name: String,
}

/// A login in progress. Its browser keeps it, sealed, until it is back. Its `Debug` form shows the provider only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub provider: String,
    /// Returned by the provider with the code.
    pub state: String,
    /// The nonce that the token must contain.
    pub nonce: String,
    /// The code verifier that redeems the code.
    verifier: String,
    redirect_uri: String,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Attempt").field(&self.provider).finish()
    }
}

#[derive(Debug)]
pub(crate) struct Browsers {
    settings: BrowserSettings,
    authorization: Option<Uri>,
    token: Option<Uri>,
    /// Set if it authenticates with a key.
    assertion: Option<Assertion>,
    /// The secret that seals sessions.
    secret: ClientSecret,
    /// Places of codes that are redeemed.
    logins: Semaphore,
    /// Of log lines about logins.
    pub(crate) warned: Pace,
}

/// The provider's answer to a redeemed code.
#[derive(Deserialize)]
pub(crate) struct Redeemed {
    pub(crate) id_token: Option<String>,
    access_token: Option<String>,
    refresh_token: Option<String>,
    /// Validity of the access token in seconds; some providers write a text.
    expires_in: Option<Value>,
}

impl Redeemed {
    /// Takes the token for later refreshes.
    pub(crate) fn refresh_token(&mut self) -> Option<Zeroizing<String>> {
        self.refresh_token.take().map(Zeroizing::new)
    }

    /// How long the provider's data is valid, in seconds.
    pub(crate) fn lives(&self) -> Option<u64> {
        let said = self.expires_in.as_ref()?;
        said.as_u64()
            .or_else(|| said.as_str().and_then(|text| text.parse().ok()))
    }
}

impl Drop for Redeemed {
    fn drop(&mut self) {
        self.access_token.zeroize();
        self.refresh_token.zeroize();
    }
}

/// A provider's error answer (RFC 6749, section 5.2).
#[derive(Deserialize)]
struct Error {
    error: String,
}

/// Claims that identify a token: only its signer may set them.
const OF_TOKENS: [&str; 8] = ["iss", "sub", "aud", "exp", "nbf", "iat", "nonce", "azp"];
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

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
        let (assertion, secret) = match &settings.proof {
            ClientProof::Secret(secret) => (None, secret.clone()),
            ClientProof::Key(key) => {
                let opened = Assertion::open(key).map_err(|why| reader.key(why))?;
                (Some(opened.0), opened.1)
            }
        };
        Ok(Browsers {
            authorization: uri("authorization-uri", &settings.authorization_uri)?,
            token: uri("token-uri", &settings.token_uri)?,
            settings: settings.clone(),
            assertion,
            secret,
            logins: Semaphore::new(MAX_LOGINS),
            warned: Pace::default(),
        })
    }

    pub(crate) fn needs_discovery(&self) -> bool {
        self.authorization.is_none() || self.token.is_none()
    }

    pub(crate) fn secret(&self) -> &ClientSecret {
        &self.secret
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
        let resources = self.settings.resource.iter();
        let resources = resources.map(|resource| ("resource", resource.as_str()));
        let further = self.settings.parameters.iter();
        let further = further.map(|(name, value)| (name.as_str(), value.as_str()));
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &attempt.redirect_uri)
            .append_pair("scope", &self.settings.scope.join(" "))
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(resources.chain(further))
            .finish();
        Ok((with_query(&place, &query), attempt))
    }

    /// The tokens that identify the user who has logged in.
    pub(crate) async fn redeem(
        &self,
        provider: &Provider,
        attempt: &Attempt,
        code: &str,
    ) -> Result<Redeemed, Refused> {
        let place = self.token_place(provider)?;
        let given = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &attempt.redirect_uri),
            ("code_verifier", &attempt.verifier),
        ];
        let (authorization, form) = self.proven(&place, &given)?;
        let Ok(Ok(_login)) = timeout(PATIENCE, self.logins.acquire()).await else {
            return Err(Refused::Unknown(
                "Too many browsers log in at this moment. Log in again.".to_string(),
            ));
        };
        let answer = provider.fetcher.post(&place, authorization, form).await;
        let answer = answer.map_err(|why| {
            if self.warned.is_due() {
                tracing::warn!(provider = provider.name, %why, "an identity provider does not redeem the code of a login");
            }
            Refused::Wrong(
                "The identity provider did not identify the user. Log in again.".to_string(),
            )
        })?;
        serde_json::from_slice(&answer)
            .map_err(|_| wrong("the answer of the issuer has none (id_token)"))
    }

    fn token_place(&self, provider: &Provider) -> Result<Uri, Refused> {
        let said = provider.keys.endpoints();
        let said = said.token_endpoint.as_ref().and_then(|it| it.parse().ok());
        let place = self.token.clone().or(said);
        place.ok_or_else(|| silent(provider))
    }

    /// The tokens for a refresh token (RFC 6749, section 6). The token is wrong only if the provider says so: a provider that
    /// is away, or that rejects this server as its client, says nothing about the user.
    pub(crate) async fn refresh(
        &self,
        provider: &Provider,
        refresh_token: &str,
    ) -> Result<Redeemed, Refused> {
        let place = self.token_place(provider)?;
        let given = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ];
        let (authorization, form) = self.proven(&place, &given)?;
        let answer = provider.fetcher.post_for_all(&place, authorization, form);
        let (status, body) = answer.await?;
        let error = serde_json::from_slice::<Error>(&body);
        match (status, error) {
            (StatusCode::OK, _) => serde_json::from_slice(&body)
                .map_err(|_| Refused::Unknown(format!("{place}: its answer has no tokens"))),
            (StatusCode::BAD_REQUEST, Ok(Error { error })) if error == "invalid_grant" => Err(
                Refused::Wrong("The identity provider has ended the login. Log in again.".into()),
            ),
            (status, Ok(Error { error })) => Err(Refused::Unknown(format!(
                "{place}: answers {status} with the error {:?}",
                error.chars().take(100).collect::<String>()
            ))),
            (status, Err(_)) => Err(Refused::Unknown(format!("{place}: answers {status}"))),
        }
    }

    /// Further claims of the provider about the user who has logged in (OpenID Connect Core 1.0, section 5.3).
    ///
    /// # Errors
    /// The reason why they are not available.
    pub(crate) async fn user_info(
        &self,
        provider: &Provider,
        redeemed: &Redeemed,
        token: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Refused> {
        let said = provider.keys.endpoints();
        let unknown = |why: &str| Refused::Unknown(why.to_string());
        let place = said.userinfo_endpoint.as_ref();
        let Some(place) = place.filter(|_| self.settings.user_info) else {
            return Ok(Map::new());
        };
        let place: Uri = place
            .parse()
            .map_err(|_| unknown(&format!("{place}: its userinfo_endpoint is not an address")))?;
        let access = redeemed.access_token.as_ref();
        let access = access.ok_or_else(|| unknown("there is no access_token"))?;
        let bearer = Zeroizing::new(format!("Bearer {access}"));
        let bearer = HeaderValue::try_from(&**bearer);
        let mut bearer =
            bearer.map_err(|_| unknown("its access_token is not valid in a header"))?;
        bearer.set_sensitive(true);
        let answer = provider.fetcher.get_as(&place, Some(bearer)).await;
        let mut found: Map<String, Value> =
            serde_json::from_slice(&answer.map_err(Refused::Unknown)?)
                .map_err(|_| unknown(&format!("{place}: its answer is not a JSON object")))?;
        if !is_flat_enough(&found) {
            return Err(unknown(&format!(
                "{place}: its answer is nested too deeply"
            )));
        }
        // Otherwise the claims would be about another user (section 5.3.2).
        if found.get("sub").is_none() || found.get("sub") != token.get("sub") {
            return Err(unknown(&format!(
                "{place}: its answer is about another user (sub)"
            )));
        }
        found.retain(|name, _| !OF_TOKENS.contains(&name.as_str()));
        Ok(found)
    }

    /// Whether an ID token was made for this server (OpenID Connect Core 1.0, section 3.1.3.7), regardless of the configured audiences.
    pub(crate) fn is_for(&self, claims: &Map<String, Value>) -> bool {
        let is_us = |value: &Value| value.as_str() == Some(&self.settings.client_id);
        match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_us),
            Some(one) => is_us(one),
            None => false,
        }
    }

    /// The header and the form of a request that authenticates this server.
    fn proven(
        &self,
        place: &Uri,
        given: &[(&str, &str)],
    ) -> Result<(Option<HeaderValue>, String), Refused> {
        let mut form = Serializer::new(String::new());
        form.extend_pairs(given);
        let Some(assertion) = &self.assertion else {
            return Ok((Some(self.authorization()?), form.finish()));
        };
        let client_id = &self.settings.client_id;
        let made = assertion.made(client_id, &place.to_string())?;
        form.append_pair("client_id", client_id)
            .append_pair("client_assertion_type", ASSERTION_TYPE)
            .append_pair("client_assertion", &made);
        Ok((None, form.finish()))
    }

    /// This server's credentials in a header (RFC 6749, section 2.3.1).
    fn authorization(&self) -> Result<HeaderValue, Refused> {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let id = encoded(&self.settings.client_id);
        let secret = Zeroizing::new(encoded(self.secret.reveal()));
        let pair = Zeroizing::new(format!("{id}:{}", *secret));
        let text = format!("Basic {}", STANDARD.encode(pair.as_bytes()));
        let value = HeaderValue::try_from(text);
        let mut value =
            value.map_err(|_| Refused::Unknown("The id of the client is not a string.".into()))?;
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
        "The login address of the identity provider '{}' is not known yet. Try again.",
        provider.name
    ))
}

/// 256 random bits, as text.
pub(crate) fn chance() -> Result<String, Refused> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| {
        Refused::Unknown("The operating system provides no random numbers.".to_string())
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
