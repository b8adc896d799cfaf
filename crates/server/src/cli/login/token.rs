//! Tokens of an identity provider for a command: obtained before it begins, and renewed on a separate thread for as long as it runs.

use std::sync::mpsc;
use std::time::Duration;

use skep_client::{Authorization, Renewal};
use skep_oidc::{ClientCredentials, ClientSecret, Given};

use super::Usage;

/// Pause before a failed renewal is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Minimum interval between two renewals.
const SHORTEST: Duration = Duration::from_millis(500);

/// The source of tokens, from the variables of the official clients.
pub fn source(variable: impl Fn(&str) -> Option<String>) -> Result<ClientCredentials, Usage> {
    let given = |name: &str| variable(name).filter(|text| !text.is_empty());
    let needed = |name: &str| {
        given(name).ok_or_else(|| {
            Usage(format!(
                "{name} is not set. A token of an identity provider requires CAMUNDA_OAUTH_URL (the token endpoint of the provider), \
                 CAMUNDA_CLIENT_ID and CAMUNDA_CLIENT_SECRET; and CAMUNDA_TOKEN_AUDIENCE and CAMUNDA_OAUTH_SCOPE if the provider requires them"
            ))
        })
    };
    Ok(ClientCredentials {
        token_uri: needed("CAMUNDA_OAUTH_URL")?,
        client_id: needed("CAMUNDA_CLIENT_ID")?,
        client_secret: ClientSecret::new(needed("CAMUNDA_CLIENT_SECRET")?),
        audience: given("CAMUNDA_TOKEN_AUDIENCE"),
        scope: given("CAMUNDA_OAUTH_SCOPE"),
    })
}

/// Gets a token and renews it until the process ends. Blocks until there is one.
pub fn kept(source: ClientCredentials) -> Result<Authorization, Usage> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let failed = |why: String| Usage(format!("the identity provider issued no token: {why}"));
    std::thread::Builder::new()
        .name("token".to_string())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            match runtime {
                Ok(runtime) => runtime.block_on(renew(&source, &sender)),
                Err(error) => drop(sender.send(Err(error.to_string()))),
            }
        })
        .map_err(|error| failed(error.to_string()))?;
    let first = receiver.recv().map_err(|error| failed(error.to_string()))?;
    first.map_err(failed)
}

async fn renew(
    source: &ClientCredentials,
    sender: &mpsc::SyncSender<Result<Authorization, String>>,
) {
    let (mut lives, renewal) = match first(source).await {
        Ok((lives, authorization, renewal)) => {
            let _ = sender.send(Ok(authorization));
            (lives, renewal)
        }
        Err(why) => return drop(sender.send(Err(why))),
    };
    loop {
        // Renew while the old token is still valid for a third of its lifetime.
        tokio::time::sleep((lives * 2 / 3).max(SHORTEST)).await;
        while let Err(why) = another(source, &renewal, &mut lives).await {
            complain!("warning: the token was not renewed: {why}");
            tokio::time::sleep(RETRY).await;
        }
    }
}

async fn first(source: &ClientCredentials) -> Result<(Duration, Authorization, Renewal), String> {
    let Given { token, lives } = source.ask().await?;
    let renewed = Authorization::renewed(&token);
    let (authorization, renewal) = renewed.map_err(|error| error.to_string())?;
    Ok((lives, authorization, renewal))
}

async fn another(
    source: &ClientCredentials,
    renewal: &Renewal,
    lives: &mut Duration,
) -> Result<(), String> {
    let given = source.ask().await?;
    renewal
        .is(&given.token)
        .map_err(|error| error.to_string())?;
    *lives = given.lives;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use skep_testbed::issuer::{Behaviour, Issuer};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn source_at(issuer: &Issuer) -> ClientCredentials {
        let variable = |name: &str| match name {
            "CAMUNDA_OAUTH_URL" => Some(format!("{}/token", issuer.uri())),
            "CAMUNDA_CLIENT_ID" => Some("worker".to_string()),
            "CAMUNDA_CLIENT_SECRET" => Some("hush".to_string()),
            "CAMUNDA_TOKEN_AUDIENCE" => Some("skep".to_string()),
            _ => None,
        };
        source(variable).unwrap()
    }

    fn eventually(what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "never: {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_token_is_renewed_before_it_expires_also_after_the_provider_was_away() {
        let issuer = Issuer::start();
        issuer.gives_refresh_tokens(1);
        let kept = kept(source_at(&issuer)).unwrap();
        let shown = || kept.header().unwrap().to_str().unwrap().to_string();
        let first = shown();
        assert!(first.starts_with("Bearer ey"), "{first}");
        let form = issuer.redeemed().remove(0).form;
        for (name, value) in [
            ("grant_type", "client_credentials"),
            ("client_id", "worker"),
            ("client_secret", "hush"),
            ("audience", "skep"),
        ] {
            assert_eq!(form[name], value, "{form:?}");
        }
        eventually("another token", || shown() != first);
        issuer.at_token(Behaviour::HangsUp);
        let asked = issuer.redeemed().len();
        // The first of these may have been under way.
        eventually("attempts", || issuer.redeemed().len() > asked + 1);
        let last = shown();
        issuer.at_token(Behaviour::Answers);
        eventually("a token after the absence", || shown() != last);
    }

    #[test]
    fn where_no_token_is_issued_the_reason_is_given_and_no_secret() {
        let issuer = Issuer::start();
        issuer.refuses_tokens(Some("invalid_client"));
        let why = kept(source_at(&issuer)).unwrap_err().to_string();
        assert!(why.contains("issued no token"), "{why}");
        assert!(why.contains("400") && !why.contains("hush"), "{why}");
    }
}
