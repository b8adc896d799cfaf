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
/// Maximum number of entities, memberships and authorizations of one command, which is carried out as a whole: it takes some milliseconds
/// of the partition's time.
const SLICE: usize = 500;

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

/// One attempt. What was created by one that failed stays.
async fn send(broker: &dyn Broker, initial: &Initial, passwords: &Passwords) -> Result<(), String> {
    let setup = IdentitySetupValue {
        users: new_users(broker, &initial.users, passwords).await?,
        ..initial.setup.clone()
    };
    for slice in slices(&setup) {
        let command = IdentityCommand::SetUp(Box::new(slice));
        let reply = broker.execute(Request::internal(Command::Identity(command)));
        let answer = tokio::time::timeout(ANSWER, reply).await;
        let answer = answer.map_err(|_| format!("no answer in {} s", ANSWER.as_secs()))?;
        answer.result.map_err(|why| why.to_string())?;
    }
    Ok(())
}

/// The set-up in slices of at most [`SLICE`], each of which finds what it refers to: members come last.
fn slices(setup: &IdentitySetupValue) -> Vec<IdentitySetupValue> {
    let mut all = Slices::default();
    all.fill(&setup.users, |slice| &mut slice.users);
    all.fill(&setup.mapping_rules, |slice| &mut slice.mapping_rules);
    all.fill(&setup.groups, |slice| &mut slice.groups);
    all.fill(&setup.roles, |slice| &mut slice.roles);
    all.fill(&setup.tenants, |slice| &mut slice.tenants);
    all.fill(&setup.authorizations, |slice| &mut slice.authorizations);
    all.fill(&setup.group_members, |slice| &mut slice.group_members);
    all.fill(&setup.role_members, |slice| &mut slice.role_members);
    all.fill(&setup.tenant_members, |slice| &mut slice.tenant_members);
    all.made
}

#[derive(Default)]
struct Slices {
    made: Vec<IdentitySetupValue>,
    /// How many more the last one may have.
    room: usize,
}

impl Slices {
    fn fill<T: Clone>(
        &mut self,
        values: &[T],
        list: impl Fn(&mut IdentitySetupValue) -> &mut Vec<T>,
    ) {
        for value in values {
            if self.room == 0 {
                self.made.push(IdentitySetupValue::default());
                self.room = SLICE;
            }
            if let Some(last) = self.made.last_mut() {
                list(last).push(value.clone());
            }
            self.room -= 1;
        }
    }
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

#[cfg(test)]
mod tests {
    use skep_identity::Limits;
    use skep_protocol::Key;
    use skep_protocol::value::{EntityType, Member, ParentValue};

    use super::*;

    /// The default set-up and these groups, each with a member.
    fn setup(groups: usize) -> IdentitySetupValue {
        let mut setup = defaults::setup();
        for number in 0..groups {
            let id: Arc<str> = format!("group-{number}").into();
            let anna = Member::new(EntityType::User, "anna");
            setup.group_members.push((id.clone(), anna));
            setup.groups.push(ParentValue {
                key: Key::NONE,
                name: id.clone(),
                description: "".into(),
                id,
                member: None,
            });
        }
        setup
    }

    #[test]
    fn a_large_set_up_goes_in_slices_and_members_after_their_groups() {
        let whole = setup(1_300);
        let slices = slices(&whole);
        let count = |setup: &IdentitySetupValue| {
            let all = Limits::of(setup);
            all.entities + all.memberships + all.authorizations
        };
        assert_eq!(slices.len(), count(&whole).div_ceil(SLICE));
        let mut known = std::collections::BTreeSet::new();
        let mut sent = 0;
        for slice in &slices {
            assert!((1..=SLICE).contains(&count(slice)), "{}", count(slice));
            known.extend(slice.groups.iter().map(|group| group.id.clone()));
            for (group, _) in &slice.group_members {
                assert!(known.contains(group), "{group}");
            }
            sent += count(slice);
        }
        assert_eq!(sent, count(&whole));
    }

    #[test]
    fn a_usual_set_up_is_one_command() {
        let whole = setup(20);
        assert_eq!(slices(&whole), [whole]);
    }
}
