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
