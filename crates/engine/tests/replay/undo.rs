//! A leader that loses its leadership, again and again: uncommitted changes are reverted, and the state, with all its indices, equals that
//! of the committed log.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use skep_engine::Engine;
use skep_engine::state::State;
use skep_identity::Grants;
use skep_protocol::batch::BatchReader;
use skep_protocol::command::{Command, IdentityCommand, Membership, NewParent, UpdateUser};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{Permission, PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, PasswordHash, ResourceMatcher, UserValue,
};
use skep_protocol::{Key, TenantId, grants};

use skep_random::Random;

use crate::{Change, change_one, command, exporting, finish, prepared};
use skep_testkit::rig::*;

/// Batches written by a command, and the number of records that the rig had seen by then.
struct Step {
    batches: Vec<Vec<u8>>,
    seen: usize,
}

/// A leader with a store, and the committed part of its log.
struct Leader {
    store: MemoryStore,
    /// A checkpoint on its way to the store, with the position after it; `None`: it was reverted and will not be stored in this form.
    pending: Option<(Pending, Option<u64>)>,
    stored_position: u64,
    committed: Vec<(u64, Vec<u8>)>,
    position: u64,
    seen: usize,
    uncommitted: VecDeque<Step>,
}

impl Leader {
    fn of(rig: &mut Rig) -> Leader {
        let store = MemoryStore::default();
        rig.partitions[0].engine = opened(store.clone(), 1, &[]);
        rig.engine(1).keep_undo(true);
        Leader {
            store,
            pending: None,
            stored_position: 1,
            committed: Vec::new(),
            position: 1,
            seen: 0,
            uncommitted: VecDeque::new(),
        }
    }

    fn wrote(&mut self, rig: &mut Rig) {
        let batches = std::mem::take(&mut rig.batches);
        self.uncommitted.push_back(Step {
            batches: batches.into_iter().map(|(_, batch)| batch).collect(),
            seen: rig.seen.len(),
        });
    }

    fn commit(&mut self, rig: &mut Rig, steps: usize) {
        for step in self.uncommitted.drain(..steps) {
            for batch in step.batches {
                let mut reader = BatchReader::new(&batch).unwrap();
                reader.by_ref().for_each(drop);
                let next = reader.position();
                self.committed.push((self.position, batch));
                self.position = next;
            }
            self.seen = step.seen;
        }
        rig.engine(1).settle(self.position);
    }

    fn checkpoint(&mut self, rig: &mut Rig) {
        let engine = rig.engine(1);
        match &mut self.pending {
            Some((_, Some(_))) => {}
            // The rows of a reverted checkpoint are stored with the next one.
            Some((rows, None)) => {
                engine.state.checkpoint(rows);
                self.pending.as_mut().unwrap().1 = Some(engine.next_position());
            }
            none => {
                let mut rows = Pending::default();
                engine.state.checkpoint(&mut rows);
                *none = Some((rows, Some(engine.next_position())));
            }
        }
    }

    fn store_checkpoint(&mut self, rig: &mut Rig) {
        let committed = self.position;
        let is_committed =
            |(_, behind): &mut (_, Option<u64>)| behind.is_some_and(|b| b <= committed);
        if let Some((rows, Some(behind))) = self.pending.take_if(is_committed) {
            self.store.write(rows);
            self.stored_position = behind;
            let state = &mut rig.engine(1).state;
            // Twice: recently used rows get a second chance.
            state.evict(0);
            state.evict(0);
        }
    }

    fn recovered(&self) -> Engine {
        let log = self.committed.iter();
        let behind: Vec<&[u8]> = log
            .filter(|(at, _)| *at >= self.stored_position)
            .map(|(_, batch)| &batch[..])
            .collect();
        opened(self.store.snapshot(), self.stored_position, &behind)
    }

    fn step_down(&mut self, rig: &mut Rig, seed: u64) {
        let expected = self.recovered();
        assert!(rig.engine(1).undo(self.position), "seed {seed}");
        let undone = rig.engine(1);
        assert!(
            undone.state.dump() == expected.state.dump(),
            "seed {seed}: the state differs after changes were taken back"
        );
        assert_eq!(undone.next_position(), expected.next_position());
        assert_eq!(found(undone), found(&expected), "seed {seed}");
        undone.keep_undo(false);
        undone.keep_undo(true);
        if let Some((_, behind)) = &mut self.pending
            && behind.is_some_and(|behind| behind > self.position)
        {
            *behind = None;
        }
        self.uncommitted.clear();
        rig.seen.truncate(self.seen);
        rig.streams.take();
        rig.partitions[0].twin = expected;
    }
}

fn opened(store: MemoryStore, position: u64, log: &[&[u8]]) -> Engine {
    let state = State::open_to_replay(1, Arc::new(store)).unwrap();
    let mut engine = Engine::new(config(1, 1), state, position);
    for batch in log {
        engine.apply(batch).unwrap();
    }
    engine.promote().unwrap();
    engine
}

/// Everything that can be found by other means than its key.
fn found(engine: &Engine) -> String {
    let (state, tenant) = (&engine.state, TenantId::default());
    let mut all = String::new();
    let mut add = |what: &dyn Debug| all += &format!("{what:?}\n");
    for job_type in ["job", "listener"] {
        let waiting: Vec<_> = state.jobs.activatable(job_type, &tenant).collect();
        add(&waiting);
    }
    add(&state.jobs.timed_out(i64::MAX).collect::<Vec<_>>());
    add(&state.jobs.backed_off(i64::MAX).collect::<Vec<_>>());
    add(&state.messages.expired(i64::MAX).collect::<Vec<_>>());
    for name in ["message", "other-message"] {
        let (name, key) = (name.into(), "key".into());
        for process in ["random", "called", "started", "none"] {
            let awaited = (&tenant, &name, &key);
            add(&state.messages.oldest_for(awaited, process, i64::MIN));
        }
        add(&state.message_subscriptions.takers(&tenant, &name, &key));
        add(&state.message_starts.named(&tenant, &name));
        add(&state
            .message_starts
            .is_running(&tenant, &"started".into(), &key));
    }
    add(&state
        .message_subscriptions
        .pending_after(Key::NONE)
        .collect::<Vec<_>>());
    add(&state
        .process_subscriptions
        .pending_after(Key::NONE)
        .collect::<Vec<_>>());
    let own = skep_protocol::TenantId::default();
    add(&state.signals.newest(&own, &"signal".into()));
    add(&state.conditions.of_definitions());
    add(&state.incidents.after(Key::NONE).collect::<Vec<_>>());
    add(&state.continuations.len());
    add(&deleted(engine));
    add(&(
        state.batch_operations.len(),
        state.batch_operations.has_work(),
    ));
    add(&state.batch_operations.to_choose().collect::<Vec<_>>());
    add(&state.banned.len());
    add(&state.exporting.value());
    add(&state.migrations.is_empty());
    for id in ["random", "called", "started"] {
        let definitions = &state.processes.definitions;
        add(&definitions.versions(&tenant, id).collect::<Vec<_>>());
        add(&definitions.next_version(&tenant, id));
    }
    let mut definitions: Vec<_> = state.processes.iter().map(|p| p.key).collect();
    definitions.sort_unstable();
    add(&definitions);
    let requirements = state.decisions.requirements.versions(&tenant, "decided");
    for key in requirements {
        add(&(
            key,
            state.decisions.of(key),
            state.decisions.compiled(key).is_some(),
        ));
    }
    add(&state
        .distributions
        .waiting()
        .filter(|(_, n)| *n > 0)
        .collect::<Vec<_>>());
    add(&identity(engine));
    all
}

/// Rows of identity that are being deleted.
fn deleted(engine: &Engine) -> BTreeSet<Key> {
    let state = &engine.state;
    let rows = state.identity.directory.rows();
    let rows = rows.iter().map(|(key, _)| *key);
    rows.filter(|row| state.continuations.deletes(*row))
        .collect()
}

/// Of users, groups, roles, tenants, and processes.
const NAMES: [&str; 3] = ["anna", "bert", "cleo"];
const CREATE: &[Permission] = grants![ProcessDefinition: CreateProcessInstance];

/// All of the directory, and what users may do by it.
fn identity(engine: &Engine) -> Vec<String> {
    let directory = &engine.state.identity.directory;
    let rows = directory.rows();
    let mut all: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    all.sort_unstable();
    for name in NAMES {
        let user = directory.user(name);
        let password = user.map(|user| user.password.reveal().to_string());
        let principal = Principal {
            id: name.into(),
            ..Principal::default()
        };
        let may = Grants::of(directory, &Claims::User(principal.into())).unwrap();
        let creates = NAMES.map(|id| may.allows(CREATE[0], id));
        let (groups, roles, tenants) = (may.groups(), may.roles(), may.tenants());
        all.push(format!(
            "{name} {password:?} {groups:?} {roles:?} {tenants:?} {creates:?}"
        ));
    }
    all
}

/// Often refused: what it creates exists, or what it changes does not.
fn change_of_identity(random: &mut Random) -> Command {
    let mut name = || NAMES[random.below(NAMES.len() as u64) as usize];
    let (one, other) = (name(), name());
    let parent = || NewParent {
        id: one.into(),
        name: one.into(),
        description: "".into(),
    };
    let membership = || Membership {
        parent: one.into(),
        member: Member::new(EntityType::User, other),
    };
    let authorization = |owner_type| AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type,
        owner_id: one.into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id(other.into()),
        permissions: vec![PermissionType::CreateProcessInstance],
    };
    Command::Identity(match random.below(16) {
        0 | 1 => IdentityCommand::CreateUser(UserValue {
            user_key: Key::NONE,
            username: one.into(),
            name: "".into(),
            email: "".into(),
            password: PasswordHash::new(other),
        }),
        2 => IdentityCommand::UpdateUser(UpdateUser {
            username: one.into(),
            name: None,
            email: None,
            password: PasswordHash::new(other),
        }),
        3 => IdentityCommand::DeleteUser {
            username: one.into(),
        },
        4 => IdentityCommand::CreateGroup(parent()),
        5 => IdentityCommand::DeleteGroup { id: one.into() },
        6 => IdentityCommand::CreateRole(parent()),
        7 => IdentityCommand::CreateTenant(parent()),
        8 => IdentityCommand::AddToGroup(membership()),
        9 => IdentityCommand::RemoveFromGroup(membership()),
        10 => IdentityCommand::AddToRole(membership()),
        11 => IdentityCommand::RemoveFromRole(membership()),
        12 => IdentityCommand::AddToTenant(membership()),
        13 => IdentityCommand::CreateAuthorization(authorization(OwnerType::User)),
        14 => IdentityCommand::CreateAuthorization(authorization(OwnerType::Group)),
        _ => IdentityCommand::CreateAuthorization(authorization(OwnerType::Role)),
    })
}

/// Changes of users and permissions alone. Returns what [`run`] returns.
fn run_with_users(seed: u64) -> usize {
    let mut random = Random(seed);
    let mut lost = 0;
    let mut rig = Rig::new();
    let mut leader = Leader::of(&mut rig);
    rig.record_batches();
    // In short turns, deletions take several.
    rig.turn_steps([1, 2, 1000][random.below(3) as usize]);
    for _ in 0..80 {
        rig.interrupted = random.below(2) == 0;
        rig.send_async(change_of_identity(&mut random));
        if random.below(2) == 0 {
            rig.run_work();
        }
        leader.wrote(&mut rig);
        match random.below(10) {
            0 => leader.checkpoint(&mut rig),
            1 => leader.store_checkpoint(&mut rig),
            2 | 3 => {
                let steps = random.below(leader.uncommitted.len() as u64 + 1) as usize;
                leader.commit(&mut rig, steps);
            }
            4 => {
                lost += usize::from(!leader.uncommitted.is_empty());
                leader.step_down(&mut rig, seed);
            }
            _ => {}
        }
    }
    leader.step_down(&mut rig, seed);
    lost
}

/// Returns the number of times that leadership was lost with uncommitted changes.
fn run(seed: u64) -> usize {
    let mut random = Random(seed);
    let mut lost = 0;
    let mut rig = Rig::new();
    let mut leader = Leader::of(&mut rig);
    rig.record_batches();
    let (elements, ids) = prepared(&mut rig, &mut random, seed);
    leader.wrote(&mut rig);
    let is_deployed = random.below(8) > 0;
    leader.commit(&mut rig, usize::from(is_deployed));
    rig.turn_steps([1, 2, 7, 1000][random.below(4) as usize]);
    for _ in 0..60 {
        rig.interrupted = random.below(3) != 0;
        let change = match random.below(16) {
            0 => Some(Change::Modify),
            1 => Some(Change::Migrate),
            _ => None,
        };
        match change {
            Some(change) => drop(change_one(&mut rig, &mut random, change, &ids)),
            None => command(&mut rig, &mut random, 1, &elements),
        }
        exporting(&mut rig, &mut random);
        for _ in 0..random.below(3) {
            rig.run_work();
        }
        leader.wrote(&mut rig);
        match random.below(10) {
            0 | 1 => leader.checkpoint(&mut rig),
            2 | 3 => leader.store_checkpoint(&mut rig),
            4 | 5 => {
                let steps = random.below(leader.uncommitted.len() as u64 + 1) as usize;
                leader.commit(&mut rig, steps);
            }
            6 => {
                lost += usize::from(!leader.uncommitted.is_empty());
                leader.step_down(&mut rig, seed);
            }
            _ => {}
        }
    }
    leader.step_down(&mut rig, seed);
    if is_deployed {
        finish(&mut rig, seed);
    }
    lost
}

/// A right must not outlive the grant that was never committed, nor stay away after a revocation that was not.
#[test]
fn users_and_permissions_after_undo_are_those_of_the_committed_log() {
    let (mut runs, mut lost) = (0, 0);
    skep_sim::each(25, |seed| {
        runs += 1;
        lost += run_with_users(seed);
    });
    assert!(runs < 25 || lost > 2 * runs, "{lost} times in {runs} runs");
}

#[test]
fn a_state_after_undo_is_that_of_the_committed_log() {
    let (mut runs, mut lost) = (0, 0);
    skep_sim::each(25, |seed| {
        runs += 1;
        lost += run(seed);
    });
    assert!(runs < 25 || lost > 2 * runs, "{lost} times in {runs} runs");
}
