//! Tokens for our own commands: a client gets one for its secret (RFC 6749, section 4.4), and a new one before that expires.

use std::time::Duration;

use form_urlencoded::Serializer;
use http::Uri;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::browsers::ClientSecret;
use crate::fetch::Fetcher;

/// Assumed validity of a token if the provider does not state it.
const UNSAID: Duration = Duration::from_secs(60);

/// Credentials and scope of a request for a token.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The address that issues tokens.
    pub token_uri: String,
    pub client_id: String,
    pub client_secret: ClientSecret,
    /// The audience of the token.
    pub audience: Option<String>,
    pub scope: Option<String>,
}

/// A token issued by a provider.
pub struct Given {
    pub token: Zeroizing<String>,
    /// Its validity.
    pub lives: Duration,
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    expires_in: Option<u64>,
}

impl ClientCredentials {
    /// Requests a token.
    ///
    /// # Errors
    /// The reason why there is none.
    pub async fn ask(&self) -> Result<Given, String> {
        let uri: Uri = self
            .token_uri
            .parse()
            .map_err(|error| format!("{} is not an address: {error}", self.token_uri))?;
        let fetcher = Fetcher::new().map_err(|error| error.to_string())?;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials")
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", self.client_secret.reveal());
        let more = [("audience", &self.audience), ("scope", &self.scope)];
        for (name, value) in more {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        let answer = fetcher.post(&uri, None, form.finish()).await?;
        let answer: Answer = serde_json::from_slice(&answer)
            .map_err(|_| format!("the answer of {uri} has no token (access_token)"))?;
        Ok(Given {
            token: Zeroizing::new(answer.access_token),
            lives: answer.expires_in.map_or(UNSAID, Duration::from_secs),
        })
    }
}
