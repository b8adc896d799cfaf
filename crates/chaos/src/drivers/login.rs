//! The identity provider of a run: the nodes require its tokens, and the run always has a valid one.

use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use skep_client::Authorization;
use skep_testbed::issuer::{Behaviour, Issuer, now};

use crate::plan::IssuerState;

/// User name of the run.
const NAME: &str = "skep-chaos";
/// Audience of the tokens.
const AUDIENCE: &str = "skep";
/// The claim by which tokens of clients differ from those of users.
const CLIENT_ID: &str = "client_id";

/// See the [module](self).
pub(super) struct Login {
    issuer: Issuer,
    authorization: Authorization,
    /// Tokens are renewed until this is dropped.
    _renewed: Arc<()>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Login {
    /// Starts the provider. Its tokens are valid for this many seconds, and renewed after half of them.
    pub(super) fn start(seconds: u64) -> io::Result<Self> {
        let issuer = Issuer::start();
        let first = Authorization::renewed(&token(&issuer, seconds));
        let (authorization, renewal) = first.map_err(io::Error::other)?;
        let renewed = Arc::new(());
        let (of_thread, wanted): (Issuer, Weak<()>) = (issuer.clone(), Arc::downgrade(&renewed));
        let half = Duration::from_millis(seconds * 500);
        std::thread::spawn(move || {
            while wanted.strong_count() > 0 {
                std::thread::sleep(half);
                // A token contains only characters that a header can hold.
                let _ = renewal.is(&token(&of_thread, seconds));
            }
        });
        Ok(Self {
            issuer,
            authorization,
            _renewed: renewed,
        })
    }

    /// Settings that make nodes require its tokens.
    pub(super) fn settings(&self) -> [(String, String); 7] {
        [
            ("authentication.method", "oidc".to_string()),
            // Commands log in as clients, and the run as a user.
            ("authentication.oidc.client-id-claim", CLIENT_ID.into()),
            ("authentication.oidc.issuer-uri", self.issuer.uri()),
            ("authentication.oidc.audiences", AUDIENCE.into()),
            ("authentication.oidc.clock-skew", "0s".into()),
            ("authorizations.enabled", "true".into()),
            ("initialization.default-roles.admin.users", NAME.into()),
        ]
        .map(|(name, value)| (format!("camunda.security.{name}"), value))
    }

    /// The variables with which commands get tokens of their own, as the issuer gives them to any client.
    pub(super) fn variables(&self) -> Vec<String> {
        let url = format!("{}/token", self.issuer.uri());
        let variables = [
            ("AUTH_STRATEGY", "oauth"),
            ("OAUTH_URL", url.as_str()),
            ("CLIENT_ID", NAME),
            ("CLIENT_SECRET", NAME),
            ("TOKEN_AUDIENCE", AUDIENCE),
        ];
        variables
            .map(|(name, value)| format!("CAMUNDA_{name}={value}"))
            .into()
    }

    /// The authorization with the current token, whenever it is used.
    pub(super) fn authorization(&self) -> &Authorization {
        &self.authorization
    }

    pub(super) fn set(&self, state: IssuerState) {
        match state {
            IssuerState::Serves => self.issuer.behaves(Behaviour::Answers),
            IssuerState::Away => self.issuer.behaves(Behaviour::HangsUp),
            IssuerState::OtherKey => self.issuer.adds_key(),
        }
    }
}

fn token(issuer: &Issuer, seconds: u64) -> String {
    issuer.token(&json!({ "sub": NAME, "aud": AUDIENCE, "exp": now() + seconds }))
}
