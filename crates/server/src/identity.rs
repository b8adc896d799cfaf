//! The initial identities of a cluster: the roles and the tenant that every cluster has, and those configured below
//! `camunda.security.initialization`. Each node sends them when it starts, and again after a purge; the engine creates the missing ones.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use skep_gateway::door::passwords::Passwords;
use skep_identity::defaults;
use skep_protocol::command::{Command, IdentityCommand, Request};
use skep_protocol::value::{IdentitySetupValue, ParentType, UserValue};
use skep_service::Broker;
use tokio::sync::oneshot;

use crate::config::security::{Initial, InitialUser};

/// Interval at which to check whether everything has been deleted.
const LOOK: Duration = Duration::from_secs(1);
/// Pauses between two attempts: the first, and the longest.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Time limit of an attempt; the next one follows.
const ANSWER: Duration = Duration::from_secs(30);
/// Maximum wait at startup, which then continues without: a partition may lack its leader for as long as other nodes are away.
const START_WAITS: Duration = Duration::from_secs(2);
/// Added to it for each user, whose password may have to be hashed first, on a busy machine.
const HASHING: Duration = Duration::from_millis(250);

/// Begins to send them. Returns once they are accepted, so that every caller of a started server is known, or after some seconds.
///
/// # Errors
/// The threads that hash passwords cannot be started.
pub async fn begin(broker: Arc<dyn Broker>, initial: Initial) -> anyhow::Result<()> {
    let passwords = Passwords::start().context("the server's threads cannot be started")?;
    let users = u32::try_from(initial.users.len()).unwrap_or(u32::MAX);
    let patience = HASHING.saturating_mul(users).saturating_add(START_WAITS);
    let (accepted, first) = oneshot::channel();
    tokio::spawn(keep(broker, initial, passwords, accepted));
    // The log says whether they were accepted.
    let _ = tokio::time::timeout(patience.min(LONGEST_PAUSE), first).await;
    Ok(())
}

/// Runs forever: there may be a purge at any time.
async fn keep(
    broker: Arc<dyn Broker>,
    initial: Initial,
    passwords: Passwords,
    accepted: oneshot::Sender<()>,
) {
    until_accepted(&*broker, &initial, &passwords).await;
    let _ = accepted.send(());
    let mut pause = LOOK;
    loop {
        tokio::time::sleep(pause).await;
        pause = if is_there(&*broker) {
            LOOK
        } else {
            until_accepted(&*broker, &initial, &passwords).await;
            (pause * 2).min(LONGEST_PAUSE)
        };
    }
}

fn is_there(broker: &dyn Broker) -> bool {
    let directory = broker.directory();
    directory
        .parent_of(ParentType::Role, defaults::ADMIN)
        .is_some()
}

async fn until_accepted(broker: &dyn Broker, initial: &Initial, passwords: &Passwords) {
    let mut pause = PAUSE;
    let mut said = false;
    while let Err(why) = send(broker, initial, passwords).await {
        // While a partition has no leader yet there is nothing to report.
        if !said && pause >= LOOK {
            said = true;
            tracing::warn!(
                code = "CONFIGURATION",
                "the initial roles and users (camunda.security.initialization) do not exist yet, and are sent again until they do: {why}"
            );
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    if said {
        tracing::info!("the initial roles and users exist");
    }
}

/// One attempt.
async fn send(broker: &dyn Broker, initial: &Initial, passwords: &Passwords) -> Result<(), String> {
    let setup = IdentitySetupValue {
        users: new_users(broker, &initial.users, passwords).await?,
        ..initial.setup.clone()
    };
    let command = IdentityCommand::SetUp(Box::new(setup));
    let reply = broker.execute(Request::internal(Command::Identity(command)));
    let answer = tokio::time::timeout(ANSWER, reply).await;
    let answer = answer.map_err(|_| format!("no answer in {} s", ANSWER.as_secs()))?;
    answer.result.map(|_| ()).map_err(|why| why.to_string())
}

/// The users that do not exist yet, as far as this node knows. Existing users keep their passwords.
async fn new_users(
    broker: &dyn Broker,
    users: &[InitialUser],
    passwords: &Passwords,
) -> Result<Vec<UserValue>, String> {
    let mut new = Vec::new();
    for InitialUser { user, password } in users {
        if broker.directory().user(&user.username).is_some() {
            continue;
        }
        let hash = passwords.hash(password.clone()).await;
        new.push(UserValue {
            password: hash.map_err(|why| why.to_string())?,
            ..user.clone()
        });
    }
    Ok(new)
}
