//! The initial identities of a cluster: the roles and the tenant that every cluster has, and those configured below
//! `camunda.security.initialization`. Each node sends them when it starts, and again after a purge; the engine creates the missing ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use skep_gateway::door::passwords::Passwords;
use skep_identity::defaults;
use skep_protocol::Failure;
use skep_protocol::command::{Command, IdentityCommand, Request};
use skep_protocol::value::{
    AuthorizationValue, IdentitySetupValue, MappingRuleValue, Member, ParentValue, PasswordHash,
    UserValue,
};
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
/// Maximum bytes of their texts, unless one alone has more, which may be as large as a request of a client.
const SLICE_BYTES: usize = 1 << 20;

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
    let last = last();
    let mut pause = LOOK;
    loop {
        tokio::time::sleep(pause).await;
        let is_there = |last: &AuthorizationValue| {
            let directory = broker.directory();
            directory.authorization_like(last).is_some()
        };
        pause = if last.as_ref().is_none_or(is_there) {
            LOOK
        } else {
            until_accepted(&*broker, &initial, &passwords).await;
            (pause * 2).min(LONGEST_PAUSE)
        };
    }
}

/// What a node sends last. Nobody can delete it, so where it is not, a purge has deleted everything, or the node that set up the cluster
/// again has not come to its end.
fn last() -> Option<AuthorizationValue> {
    defaults::setup().authorizations.pop()
}

async fn until_accepted(broker: &dyn Broker, initial: &Initial, passwords: &Passwords) {
    let mut hashes = Hashes::of(passwords);
    let mut pause = PAUSE;
    let mut said = false;
    while let Err(why) = send(broker, initial, &mut hashes).await {
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
async fn send(
    broker: &dyn Broker,
    initial: &Initial,
    hashes: &mut Hashes<'_>,
) -> Result<(), String> {
    let exists = |username: &str| broker.directory().user(username).is_some();
    let setup = IdentitySetupValue {
        users: new_users(exists, &initial.users, hashes).await?,
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

/// The set-up in slices of at most [`SLICE`] and [`SLICE_BYTES`], each of which finds what it refers to: members come after their groups.
/// The role of administrators comes with its members, as everybody may become the first one while it has none.
fn slices(setup: &IdentitySetupValue) -> Vec<IdentitySetupValue> {
    let last = last();
    let (admin, roles) = parted(&setup.roles, |role| &*role.id == defaults::ADMIN);
    let (admins, role_members) =
        parted(&setup.role_members, |(role, _)| &**role == defaults::ADMIN);
    let (last, authorizations) = parted(&setup.authorizations, |it| Some(it) == last.as_ref());
    let member = |(parent, member): &(Arc<str>, Member)| parent.len() + member.weight();
    let (parent, granted) = (ParentValue::weight, AuthorizationValue::weight);
    let mut all = Slices::default();
    all.fill(&admin, parent, |slice| &mut slice.roles);
    all.fill(&admins, member, |slice| &mut slice.role_members);
    all.fill(&setup.users, UserValue::weight, |slice| &mut slice.users);
    let rule = MappingRuleValue::weight;
    all.fill(&setup.mapping_rules, rule, |slice| &mut slice.mapping_rules);
    all.fill(&setup.groups, parent, |slice| &mut slice.groups);
    all.fill(&roles, parent, |slice| &mut slice.roles);
    all.fill(&setup.tenants, parent, |slice| &mut slice.tenants);
    all.fill(&authorizations, granted, |slice| &mut slice.authorizations);
    let members = &setup.group_members;
    all.fill(members, member, |slice| &mut slice.group_members);
    all.fill(&role_members, member, |slice| &mut slice.role_members);
    let members = &setup.tenant_members;
    all.fill(members, member, |slice| &mut slice.tenant_members);
    all.fill(&last, granted, |slice| &mut slice.authorizations);
    all.made
}

/// Those that are, and the others.
fn parted<T: Clone>(all: &[T], is: impl Fn(&T) -> bool) -> (Vec<T>, Vec<T>) {
    all.iter().cloned().partition(is)
}

#[derive(Default)]
struct Slices {
    made: Vec<IdentitySetupValue>,
    /// How many more the last one may have.
    room: usize,
    /// How many more bytes.
    bytes: usize,
}

impl Slices {
    fn fill<T: Clone>(
        &mut self,
        values: &[T],
        weight: impl Fn(&T) -> usize,
        list: impl Fn(&mut IdentitySetupValue) -> &mut Vec<T>,
    ) {
        for value in values {
            let bytes = weight(value);
            if self.room == 0 || self.bytes < bytes {
                self.made.push(IdentitySetupValue::default());
                (self.room, self.bytes) = (SLICE, SLICE_BYTES);
            }
            if let Some(last) = self.made.last_mut() {
                list(last).push(value.clone());
            }
            self.room -= 1;
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}

/// The users that do not exist yet, as far as this node knows. Existing users keep their passwords.
async fn new_users(
    exists: impl Fn(&str) -> bool,
    users: &[InitialUser],
    hashes: &mut Hashes<'_>,
) -> Result<Vec<UserValue>, String> {
    let mut new = Vec::new();
    for user in users {
        if !exists(&user.user.username) {
            let password = hashes.hash(user).await;
            new.push(UserValue {
                password: password.map_err(|why| why.to_string())?,
                ..user.user.clone()
            });
        }
    }
    Ok(new)
}

/// The hashes of configured passwords. Each is computed once, however often the set-up must be sent: one takes tens of milliseconds of a
/// processor, and attempts fail for as long as a partition has no leader.
struct Hashes<'p> {
    passwords: &'p Passwords,
    known: HashMap<Arc<str>, PasswordHash>,
}

impl<'p> Hashes<'p> {
    fn of(passwords: &'p Passwords) -> Hashes<'p> {
        Hashes {
            passwords,
            known: HashMap::new(),
        }
    }

    async fn hash(&mut self, of: &InitialUser) -> Result<PasswordHash, Failure> {
        let username = &of.user.username;
        if let Some(known) = self.known.get(username) {
            return Ok(known.clone());
        }
        let hash = self.passwords.hash(of.password.clone()).await?;
        self.known.insert(username.clone(), hash.clone());
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use skep_gateway::door::secret::Secret;
    use skep_identity::Limits;
    use skep_protocol::Key;
    use skep_protocol::value::EntityType;

    use super::*;

    fn group(id: &Arc<str>, description: &str) -> ParentValue {
        ParentValue {
            key: Key::NONE,
            id: id.clone(),
            name: id.clone(),
            description: description.into(),
            member: None,
        }
    }

    /// The default set-up and these groups, each with a member.
    fn setup(groups: usize, description: &str) -> IdentitySetupValue {
        let mut setup = defaults::setup();
        for number in 0..groups {
            let id: Arc<str> = format!("group-{number}").into();
            let anna = Member::new(EntityType::User, "anna");
            setup.group_members.push((id.clone(), anna));
            setup.groups.push(group(&id, description));
        }
        setup
    }

    fn count(setup: &IdentitySetupValue) -> usize {
        let all = Limits::of(setup);
        all.entities + all.memberships + all.authorizations
    }

    /// Nothing is lost, and members come after their groups.
    fn check(slices: &[IdentitySetupValue], whole: &IdentitySetupValue) {
        let mut known = std::collections::BTreeSet::new();
        for slice in slices {
            assert!((1..=SLICE).contains(&count(slice)), "{}", count(slice));
            known.extend(slice.groups.iter().map(|group| group.id.clone()));
            for (group, _) in &slice.group_members {
                assert!(known.contains(group), "{group}");
            }
        }
        let sent: usize = slices.iter().map(count).sum();
        assert_eq!(sent, count(whole));
        let bytes: usize = slices.iter().map(IdentitySetupValue::weight).sum();
        assert_eq!(bytes, whole.weight());
    }

    #[test]
    fn a_large_set_up_goes_in_slices_and_members_after_their_groups() {
        let whole = setup(1_300, "");
        let slices = slices(&whole);
        assert_eq!(slices.len(), count(&whole).div_ceil(SLICE));
        check(&slices, &whole);
    }

    #[test]
    fn a_slice_is_bounded_by_its_bytes_too() {
        let whole = setup(100, &"x".repeat(60 << 10));
        let all = slices(&whole);
        assert!((6..=8).contains(&all.len()), "{}", all.len());
        for slice in &all {
            assert!(slice.weight() <= SLICE_BYTES, "{}", slice.weight());
        }
        check(&all, &whole);
        // One that is larger goes alone.
        let mut whole = setup(3, "");
        let large = group(&"large".into(), &"x".repeat(3 << 20));
        whole.groups.insert(1, large.clone());
        let all = slices(&whole);
        assert_eq!(all.len(), 3);
        let alone = IdentitySetupValue {
            groups: vec![large],
            ..IdentitySetupValue::default()
        };
        assert_eq!(all[1], alone);
        check(&all, &whole);
    }

    /// Otherwise whoever reaches the port could become the first one between two commands.
    #[test]
    fn the_role_of_administrators_never_exists_without_its_members() {
        let mut whole = setup(1_300, "");
        for name in ["anna", "bert"] {
            let admin = Member::new(EntityType::User, name);
            whole.role_members.push((defaults::ADMIN.into(), admin));
        }
        let all = slices(&whole);
        check(&all, &whole);
        let is_admin = |role: &ParentValue| &*role.id == defaults::ADMIN;
        let with_role = all.iter().find(|slice| slice.roles.iter().any(is_admin));
        let members = with_role.unwrap().role_members.iter();
        let of_admin = members.filter(|(role, _)| &**role == defaults::ADMIN);
        assert_eq!(of_admin.count(), 2);
    }

    /// A node that dies before its last command leaves it to the others, after a purge too.
    #[test]
    fn what_shows_that_all_is_there_goes_last() {
        let mut whole = setup(1_300, "");
        for number in 0..600 {
            let role: Arc<str> = format!("role-{number}").into();
            let like = whole.authorizations[0].clone();
            whole.authorizations.push(AuthorizationValue {
                owner_id: role.clone(),
                ..like
            });
            let anna = Member::new(EntityType::User, "anna");
            whole.tenant_members.push((role, anna));
        }
        let all = slices(&whole);
        check(&all, &whole);
        let last = last().unwrap();
        let has = |slice: &IdentitySetupValue| slice.authorizations.contains(&last);
        let found: Vec<bool> = all.iter().map(has).collect();
        assert!(found.len() > 4, "{found:?}");
        let (end, others) = found.split_last().unwrap();
        assert!(*end && !others.contains(&true), "{found:?}");
    }

    #[test]
    fn a_usual_set_up_is_one_command() {
        let whole = setup(20, "those of the night");
        assert_eq!(slices(&whole), [whole]);
    }

    /// Each hash has a salt of its own, so a password that is hashed twice has two.
    #[tokio::test]
    async fn a_further_attempt_sends_the_hashes_of_the_first() {
        let user = |username: &str| InitialUser {
            user: UserValue {
                user_key: Key::NONE,
                username: username.into(),
                name: "".into(),
                email: "".into(),
                password: PasswordHash::default(),
            },
            password: Secret::new("hush".to_string()),
        };
        let users = [user("anna"), user("bert")];
        let passwords = Passwords::start().unwrap();
        let mut hashes = Hashes::of(&passwords);
        let first = new_users(|_| false, &users, &mut hashes).await.unwrap();
        assert_eq!(first.len(), 2);
        assert_ne!(first[0].password, first[1].password);
        assert!(!first[0].password.is_empty());
        let again = new_users(|_| false, &users, &mut hashes).await.unwrap();
        assert_eq!(again, first);
        // Another node may have created one of them meanwhile.
        let rest = new_users(|name| name == "anna", &users, &mut hashes).await;
        assert_eq!(rest.unwrap(), first[1..]);
    }
}
