//! A group, a role and a tenant are deleted in turns while others change them and create them again, leaders change, and messages between
//! partitions are lost, late and repeated: nothing is left of them once a deletion is answered, and what was given later stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skep_engine::RequestId;
use skep_identity::{Directory, Parent};
use skep_protocol::command::*;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::*;
use skep_protocol::{Key, RejectionType, Response};
use skep_random::Random;
use skep_testkit::rig::*;

use crate::identity::{authorization, new};

type Id = (ParentType, &'static str);

const GROUP: Id = (ParentType::Group, "all");
const ROLE: Id = (ParentType::Role, "clerk");
const TENANT: Id = (ParentType::Tenant, "acme");
const ENTITIES: [Id; 3] = [GROUP, ROLE, TENANT];
/// The group has the role, and both belong to the tenant.
const NESTED: [(Id, Id); 3] = [(ROLE, GROUP), (TENANT, GROUP), (TENANT, ROLE)];
const OWNERS: [Id; 2] = [GROUP, ROLE];
const PARTITIONS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    There,
    Going,
    Gone,
}

/// A deletion whose answer is awaited, and what must be gone everywhere once it is there. Each has a name or a key of its own.
struct Deletion {
    request: RequestId,
    members: Vec<(Id, Member)>,
    grants: Vec<Key>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    acknowledged: usize,
    /// Of changes of what is being deleted.
    refused: usize,
    deleted: usize,
}

struct World {
    rig: Rig,
    random: Random,
    stages: BTreeMap<Id, Stage>,
    members: BTreeSet<(Id, Member)>,
    grants: BTreeMap<Key, Id>,
    deletions: Vec<Deletion>,
    /// Number of clients and resources so far, each of which has a name of its own.
    named: usize,
    counts: Counts,
    is_faulty: Arc<AtomicBool>,
}

fn as_member((kind, id): Id) -> Member {
    let kind = match kind {
        ParentType::Group => EntityType::Group,
        ParentType::Role => EntityType::Role,
        ParentType::Tenant => panic!("a tenant is no member"),
    };
    Member::new(kind, id)
}

fn as_owner((kind, id): Id) -> (OwnerType, &'static str) {
    match kind {
        ParentType::Group => (OwnerType::Group, id),
        ParentType::Role => (OwnerType::Role, id),
        ParentType::Tenant => panic!("a tenant owns nothing"),
    }
}

impl World {
    fn new(seed: u64) -> World {
        let mut rig = Rig::with_partitions(PARTITIONS);
        let is_faulty = Arc::new(AtomicBool::new(true));
        let (faulty, mut dice) = (is_faulty.clone(), Random(seed ^ 0xfa17));
        rig.fate = Box::new(move |_| match dice.below(24) {
            _ if !faulty.load(Ordering::Relaxed) => Fate::Arrives,
            0 => Fate::Lost,
            1 => Fate::Twice,
            2 => Fate::Late,
            _ => Fate::Arrives,
        });
        rig.interrupted = true;
        rig.turn_steps(2);
        World {
            rig,
            random: Random(seed),
            stages: ENTITIES.map(|id| (id, Stage::Gone)).into(),
            members: BTreeSet::new(),
            grants: BTreeMap::new(),
            deletions: Vec::new(),
            named: 0,
            counts: Counts::default(),
            is_faulty,
        }
    }

    fn directory(&self, partition: u32) -> &Directory {
        let partition = &self.rig.partitions[partition as usize - 1];
        &partition.engine.state.identity.directory
    }

    fn name(&mut self) -> String {
        self.named += 1;
        format!("n-{}", self.named)
    }

    /// Sends a change, which must be refused like this, or not at all. The answer of an accepted one may wait for other partitions.
    fn send(&mut self, command: IdentityCommand, refused: Option<RejectionType>) -> RequestId {
        let shown = format!("{command:?}, {:?}", self.stages);
        let request = self.rig.send_async(Command::Identity(command));
        let answer = self.rig.look_at_answer(request);
        let got = answer.and_then(|answer| answer.as_ref().err());
        assert_eq!(got.map(|rejection| rejection.kind), refused, "{shown}");
        self.counts.refused += usize::from(refused == Some(RejectionType::InvalidState));
        request
    }

    fn stage(&self, id: Id) -> Stage {
        self.stages[&id]
    }

    fn create(&mut self) {
        let id = *self.random.pick(&ENTITIES);
        let entity = new(id.1);
        let command = match id.0 {
            ParentType::Group => IdentityCommand::CreateGroup(entity),
            ParentType::Role => IdentityCommand::CreateRole(entity),
            ParentType::Tenant => IdentityCommand::CreateTenant(entity),
        };
        let is_gone = self.stage(id) == Stage::Gone;
        self.send(command, (!is_gone).then_some(RejectionType::AlreadyExists));
        if is_gone {
            self.stages.insert(id, Stage::There);
        }
    }

    fn delete(&mut self) {
        let id = *self.random.pick(&ENTITIES);
        let name = id.1.into();
        let command = match id.0 {
            ParentType::Group => IdentityCommand::DeleteGroup { id: name },
            ParentType::Role => IdentityCommand::DeleteRole { id: name },
            ParentType::Tenant => IdentityCommand::DeleteTenant { id: name },
        };
        let refused = match self.stage(id) {
            Stage::There => None,
            Stage::Going => Some(RejectionType::InvalidState),
            Stage::Gone => Some(RejectionType::NotFound),
        };
        let request = self.send(command, refused);
        if refused.is_some() {
            return;
        }
        let is_client = |member: &Member| member.entity_type == EntityType::Client;
        let members = self.members.iter().cloned();
        let grants = self.grants.iter().filter(|(_, owner)| **owner == id);
        self.deletions.push(Deletion {
            request,
            members: members
                .filter(|(of, member)| *of == id && is_client(member))
                .collect(),
            grants: grants.map(|(key, _)| *key).collect(),
        });
        self.stages.insert(id, Stage::Going);
    }

    fn add(&mut self) {
        let (parent, nested) = match self.random.below(4) {
            0 => {
                let (parent, member) = *self.random.pick(&NESTED);
                (parent, Some(member))
            }
            _ => (*self.random.pick(&ENTITIES), None),
        };
        let member = match nested {
            Some(id) => as_member(id),
            None => Member::new(EntityType::Client, &self.name()),
        };
        let is_there = nested.is_none_or(|id| self.stage(id) == Stage::There);
        let refused = match self.stage(parent) {
            Stage::Gone => Some(RejectionType::NotFound),
            Stage::Going => Some(RejectionType::InvalidState),
            Stage::There if !is_there => Some(RejectionType::NotFound),
            Stage::There if self.members.contains(&(parent, member.clone())) => {
                Some(RejectionType::AlreadyExists)
            }
            Stage::There => None,
        };
        let membership = Membership {
            parent: parent.1.into(),
            member: member.clone(),
        };
        let command = match parent.0 {
            ParentType::Group => IdentityCommand::AddToGroup(membership),
            ParentType::Role => IdentityCommand::AddToRole(membership),
            ParentType::Tenant => IdentityCommand::AddToTenant(membership),
        };
        self.send(command, refused);
        if refused.is_none() {
            self.members.insert((parent, member));
        }
    }

    fn grant(&mut self) {
        let owner = *self.random.pick(&OWNERS);
        let process = self.name();
        let value = authorization(
            as_owner(owner),
            ResourceType::ProcessDefinition,
            ResourceMatcher::Id(process.as_str().into()),
            &[PermissionType::CreateProcessInstance],
        );
        let is_there = self.stage(owner) == Stage::There;
        let refused = (!is_there).then_some(RejectionType::NotFound);
        self.send(IdentityCommand::CreateAuthorization(value), refused);
        if is_there {
            let mut seen = self.rig.seen.iter().rev();
            let event = seen.find(|seen| {
                let is_it = (seen.value_type, seen.intent) == ("AUTHORIZATION", "CREATED");
                seen.partition == 1 && seen.is_event() && is_it
            });
            let key = event.expect("the event of the authorization").key;
            self.grants.insert(key, owner);
        }
    }

    /// What the first partition has deleted is gone, with all that belongs to it.
    fn follow(&mut self) {
        for id in ENTITIES {
            let is_gone = self.directory(1).parent_of(id.0, id.1).is_none();
            if self.stage(id) != Stage::Going || !is_gone {
                continue;
            }
            self.stages.insert(id, Stage::Gone);
            self.counts.deleted += 1;
            let nested = (id.0 != ParentType::Tenant).then(|| as_member(id));
            self.members
                .retain(|(parent, member)| *parent != id && Some(member) != nested.as_ref());
            self.grants.retain(|_, owner| *owner != id);
        }
    }

    /// Once a deletion is answered, nothing that it deleted is left on any partition.
    fn check_acknowledged(&mut self) {
        let (answered, waiting): (Vec<Deletion>, _) = std::mem::take(&mut self.deletions)
            .into_iter()
            .partition(|it| self.rig.look_at_answer(it.request).is_some());
        self.deletions = waiting;
        for deletion in answered {
            let answer = self.rig.answer(deletion.request);
            assert!(matches!(answer, Some(Ok(Response::Empty))), "{answer:?}");
            self.counts.acknowledged += 1;
            for partition in 1..=PARTITIONS {
                let directory = self.directory(partition);
                for key in &deletion.grants {
                    assert!(directory.authorization(*key).is_none(), "{partition} {key}");
                }
                for ((kind, id), member) in &deletion.members {
                    let row = directory.membership(&Parent::new(*kind, id), member);
                    assert_eq!(row, None, "{partition} {id} {member:?}");
                }
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..=4 => self.add(),
            5..=7 => self.grant(),
            8..=9 => self.delete(),
            10..=12 => self.create(),
            13..=16 => {
                self.rig.run_work();
            }
            17 if self.random.one_in(2) => {
                let partition = 1 + self.random.below(u64::from(PARTITIONS)) as u32;
                self.rig.change_leader(partition);
            }
            _ => self.rig.advance(10_000),
        }
        self.follow();
        self.check_acknowledged();
    }

    /// All partitions have the same, and that is what was given and not deleted.
    fn check_end(&mut self) {
        self.is_faulty.store(false, Ordering::Relaxed);
        for _ in 0..20 {
            self.rig.advance(10_000);
            while self.rig.run_work() {}
        }
        self.follow();
        self.check_acknowledged();
        for partition in 1..=PARTITIONS {
            let directory = self.directory(partition);
            let mut members = BTreeSet::new();
            let mut grants = BTreeSet::new();
            for (kind, id) in ENTITIES {
                let parent = Parent::new(kind, id);
                let of = directory.members(&parent);
                members.extend(of.map(|(member, _)| ((kind, id), member.clone())));
            }
            for id in OWNERS {
                let (owner, name) = as_owner(id);
                let name = name.into();
                let owned = directory.authorizations_of(owner, &name);
                grants.extend(owned.map(|(key, _)| key));
            }
            assert_eq!(members, self.members, "members on {partition}");
            let given: BTreeSet<Key> = self.grants.keys().copied().collect();
            assert_eq!(grants, given, "authorizations on {partition}");
        }
        self.check_records();
    }

    /// Each is removed once, on each partition.
    fn check_records(&self) {
        let mut removed = BTreeSet::new();
        let mut deleted = 0;
        for seen in self.rig.seen.iter().filter(|seen| seen.is_event()) {
            let of_member = seen.intent == "ENTITY_REMOVED" && seen.text("entityType") == "CLIENT";
            if of_member || (seen.value_type, seen.intent) == ("AUTHORIZATION", "DELETED") {
                let name = (seen.partition, seen.key, seen.text("entityId").to_string());
                assert!(removed.insert(name), "twice: {seen:?}");
            }
            let of_entity = ["GROUP", "ROLE", "TENANT"].contains(&seen.value_type);
            let is_deletion = of_entity && seen.intent == "DELETED" && seen.partition == 1;
            deleted += usize::from(is_deletion);
        }
        assert_eq!(deleted, self.counts.deleted);
    }
}

fn play(seed: u64) -> Counts {
    let mut world = World::new(seed);
    for _ in 0..250 {
        world.step();
    }
    world.check_end();
    world.counts
}

#[test]
fn deletions_leave_nothing_and_take_nothing_that_was_given_later() {
    let mut all = Counts::default();
    skep_sim::each(25, |seed| {
        let of = play(seed);
        all.acknowledged += of.acknowledged;
        all.refused += of.refused;
        all.deleted += of.deleted;
    });
    // A single seed may lack one of them.
    let is_alone = std::env::var_os("SKEP_SEED").is_some();
    let counts = [all.acknowledged, all.refused, all.deleted];
    assert!(
        is_alone || counts.iter().all(|count| *count > 20),
        "{counts:?}"
    );
}
