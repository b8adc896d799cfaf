//! SCALE: partitions are added.
//!
//! A new partition pulls the global state from the first partition, part by part. From its first request on, the first
//! partition keeps for it the commands that all partitions carry out, and the new partition takes them once it has all
//! parts. The cluster gives it work when the first partition has recorded that it is complete. Nothing is kept for a
//! partition before its first request, because it may never start.

use std::collections::BTreeSet;

use skep_protocol::intent::ScaleIntent;
use skep_protocol::record::encode;
use skep_protocol::value::ScaleValue;
use skep_protocol::{Key, RejectionType, Response, Routing};

use super::deployment::distribution;
use super::identity::IdentityEvent;
use super::{Context, Outcome, reject};
use crate::remote::{Definition, Distributed, GlobalLocation, RemoteCommand, ScalingCommand};
use crate::state::State;

/// Bytes after which a part is full.
const PART_BYTES: usize = 1 << 20;
/// Items after which a part is full: each is at least one event.
const PART_ITEMS: usize = 500;

/// The partitions that carry out the command. Nothing runs on a partition that is not complete, so it does not miss
/// commands about instances.
pub(crate) fn targets(cx: &Context<'_>, command: &Distributed) -> BTreeSet<u32> {
    let scaling = cx.state.scaling.get();
    let whole = scaling.whole.max(cx.config.routing.count());
    let mut targets: BTreeSet<u32> = (1..=whole).collect();
    if !command.is_about_instances() {
        targets.extend(&scaling.pulling);
    }
    targets
}

/// The current or desired number of partitions.
fn desired(cx: &Context<'_>) -> u32 {
    let known = cx.state.scaling.get().desired;
    known.max(cx.config.routing.count())
}

/// Whether clients wait for this partition to carry out global commands: it takes part, or is about to.
pub(crate) fn is_waited_for(cx: &Context<'_>, partition: u32) -> bool {
    partition <= cx.config.routing.count()
        || cx.state.scaling.get().bootstrapped.contains(&partition)
}

/// Whether this partition is new and does not yet have the complete global state.
pub(crate) fn is_bootstrapping(routing: &Routing, state: &State) -> bool {
    let own = state.partition;
    own > routing.initial() && !state.scaling.get().bootstrapped.contains(&own)
}

/// Whether this partition is new and still has requests or reports to send.
pub(crate) fn is_under_way(routing: &Routing, state: &State) -> bool {
    state.partition > routing.initial() && state.scaling.get().finished.is_none()
}

fn value(cx: &Context<'_>, partitions: u32, redistributed: &[u32]) -> ScaleValue {
    ScaleValue {
        desired_partition_count: partitions,
        message_correlation_partitions: cx.config.routing.initial(),
        redistributed_partitions: redistributed.to_vec(),
    }
}

/// SCALE SCALE_UP, on the first partition. Repeating it has no effect. A lower number than before is possible as long as
/// none of the surplus partitions has requested anything.
pub(crate) fn scale_up(cx: &mut Context<'_>, partitions: u32) -> Outcome {
    let scaling = cx.state.scaling.get();
    let asked = scaling.pulling.last().copied().unwrap_or_default();
    let there = cx.config.routing.count().max(scaling.whole).max(asked);
    if partitions < there {
        let reason = format!(
            "Expected to scale up to {partitions} partitions, but there are {there} already, or are about to be."
        );
        return Err(reject(RejectionType::InvalidState, "SCALE_UP", reason));
    }
    if partitions != desired(cx) {
        let value = value(cx, partitions, &[]);
        cx.event(Key::NONE, ScaleIntent::ScalingUp, &value);
    }
    Ok(Some(Response::Empty))
}

/// Records that all partitions are complete. `key`: the key of the distribution.
pub(crate) fn scaled_up(cx: &mut Context<'_>, key: Key, partitions: u32) {
    let whole: Vec<u32> = (cx.config.routing.initial() + 1..=partitions).collect();
    let value = value(cx, partitions, &whole);
    cx.event(key, ScaleIntent::ScaledUp, &value);
}

/// Repeats unanswered requests.
pub(crate) fn retry(cx: &mut Context<'_>) {
    let partition = cx.state.partition;
    if is_bootstrapping(&cx.config.routing, cx.state) {
        pull(cx);
    } else if is_under_way(&cx.config.routing, cx.state) {
        ask(cx, ScalingCommand::MarkPartitionBootstrapped { partition });
    }
}

fn ask(cx: &mut Context<'_>, command: ScalingCommand) {
    cx.send(Routing::FIRST, RemoteCommand::Scaling(command));
}

fn pull(cx: &mut Context<'_>) {
    let pull = ScalingCommand::PullGlobalState {
        partition: cx.state.partition,
        after: cx.volatile.pulled,
    };
    ask(cx, pull);
}

/// Handles a command between a new partition and the first one.
pub(crate) fn carry_out(cx: &mut Context<'_>, command: &ScalingCommand) {
    match command {
        ScalingCommand::PullGlobalState { partition, after } => give(cx, *partition, *after),
        ScalingCommand::GlobalState {
            after,
            items,
            next,
            partitions,
        } => take(cx, *after, items, (*next, *partitions)),
        ScalingCommand::MarkPartitionBootstrapped { partition } => mark(cx, *partition),
    }
}

/// SCALE STATUS, on the first partition.
fn give(cx: &mut Context<'_>, partition: u32, after: GlobalLocation) {
    let partitions = desired(cx);
    // SCALE_UP has not yet arrived here.
    if partition > partitions {
        return;
    }
    // From here on, distributions are kept for it.
    if !cx.state.scaling.get().pulling.contains(&partition) {
        let value = value(cx, partitions, &[partition]);
        cx.event(Key::NONE, ScaleIntent::PartitionPulling, &value);
    }
    let (items, next) = part(cx.state, after);
    let answer = ScalingCommand::GlobalState {
        after,
        items,
        next,
        partitions,
    };
    cx.send(partition, RemoteCommand::Scaling(answer));
}

/// SCALE STATUS_RESPONSE, on a new partition. A late or duplicate answer is ignored.
fn take(
    cx: &mut Context<'_>,
    after: GlobalLocation,
    items: &[Distributed],
    (next, partitions): (Option<GlobalLocation>, u32),
) {
    if !is_bootstrapping(&cx.config.routing, cx.state) || after != cx.volatile.pulled {
        return;
    }
    for item in items {
        distribution::carry_out(cx, Key::NONE, item);
    }
    match next {
        Some(next) => {
            cx.volatile.pulled = next;
            pull(cx);
        }
        None => {
            let partition = cx.state.partition;
            let value = value(cx, partitions, &[partition]);
            cx.event(Key::NONE, ScaleIntent::PartitionBootstrapped, &value);
            ask(cx, ScalingCommand::MarkPartitionBootstrapped { partition });
        }
    }
}

/// SCALE MARK_PARTITION_BOOTSTRAPPED, on the first partition. Decisions made while the new partition pulled are sent to it
/// first: from the mark on clients wait for it, so nobody may find it behind.
fn mark(cx: &mut Context<'_>, partition: u32) {
    if !cx.state.scaling.get().bootstrapped.contains(&partition) {
        if distribution::send_next(cx, partition) {
            cx.volatile.nearly_bootstrapped.insert(partition);
            return;
        }
        cx.volatile.nearly_bootstrapped.remove(&partition);
        let value = value(cx, desired(cx), &[partition]);
        cx.event(Key::NONE, ScaleIntent::PartitionBootstrapped, &value);
    }
    let partitions = desired(cx);
    let scaling = cx.state.scaling.get();
    let mut new = cx.config.routing.initial() + 1..=partitions;
    if scaling.finished.is_none() && new.all(|new| scaling.bootstrapped.contains(&new)) {
        let key = cx.next_key();
        scaled_up(cx, key, partitions);
        distribution::spread(cx, key, Distributed::ScaledUp { partitions });
    }
}

/// Continues marking a partition that has acknowledged everything so far.
pub(crate) fn caught_up(cx: &mut Context<'_>, partition: u32) {
    if cx.volatile.nearly_bootstrapped.contains(&partition) {
        mark(cx, partition);
    }
}

/// The kinds of global state, in the order in which a new partition receives them.
#[derive(Clone, Copy)]
enum Global {
    Clock,
    Identity,
    ClusterVariable,
    Listener,
    Process,
    DecisionRequirements,
    Decision,
    Form,
    Resource,
}

const KINDS: [Global; 9] = [
    Global::Clock,
    Global::Identity,
    Global::ClusterVariable,
    Global::Listener,
    Global::Process,
    Global::DecisionRequirements,
    Global::Decision,
    Global::Form,
    Global::Resource,
];

type Part = (Vec<Distributed>, Option<GlobalLocation>);

/// The part of the global state after a place.
fn part(state: &mut State, after: GlobalLocation) -> Part {
    let (mut items, mut bytes) = (Vec::new(), 0);
    for kind in KINDS.into_iter().skip(usize::from(after.kind)) {
        let behind = if kind as u8 == after.kind {
            after.key
        } else {
            Key::NONE
        };
        for key in keys(state, kind, behind) {
            let Some(item) = item(state, kind, key) else {
                continue;
            };
            bytes += encode(&item).len();
            items.push(item);
            if bytes >= PART_BYTES || items.len() >= PART_ITEMS {
                let kind = kind as u8;
                return (items, Some(GlobalLocation { kind, key }));
            }
        }
    }
    (items, None)
}

/// The lowest keys of a kind after `behind`, as many as fit into a part.
fn keys(state: &State, kind: Global, behind: Key) -> Vec<Key> {
    match kind {
        Global::Clock => lowest(state.pinned_clock().map(|_| Key(1)), behind),
        Global::Identity => lowest(state.identity.directory.keys_behind(behind), behind),
        Global::ClusterVariable => lowest(state.cluster_variables.keys(), behind),
        Global::Listener => lowest(state.global_listeners.keys(), behind),
        Global::Process => lowest(state.processes.definitions.keys(), behind),
        Global::DecisionRequirements => lowest(state.decisions.requirements.keys(), behind),
        Global::Decision => lowest(state.decisions.decisions.keys(), behind),
        Global::Form => lowest(state.forms.keys(), behind),
        Global::Resource => lowest(state.resources.keys(), behind),
    }
}

fn lowest(keys: impl IntoIterator<Item = Key>, behind: Key) -> Vec<Key> {
    let keys = keys.into_iter().filter(|key| *key > behind);
    let mut keys: Vec<Key> = keys.collect();
    if keys.len() > PART_ITEMS {
        keys.select_nth_unstable(PART_ITEMS);
        keys.truncate(PART_ITEMS);
    }
    keys.sort_unstable();
    keys
}

/// The item as a distributed command, as if it had just been decided.
fn item(state: &mut State, kind: Global, key: Key) -> Option<Distributed> {
    Some(match kind {
        Global::Clock => Distributed::PinClock {
            time: state.pinned_clock()?,
        },
        Global::Identity => {
            let entry = &state.identity.table.get(key)?.0;
            Distributed::Identity(vec![IdentityEvent::of_entry(key, entry)])
        }
        Global::ClusterVariable => Distributed::SetClusterVariable {
            key,
            value: state.cluster_variables.table.get(key)?.0.clone(),
        },
        Global::Listener => Distributed::SetGlobalListener {
            key,
            listener: state.global_listeners.table.get(key)?.0.clone(),
        },
        Global::Process => {
            let value = state.processes.record(key)?.clone();
            deployed(value.deployment_key, Definition::Process(value))
        }
        Global::DecisionRequirements => {
            let value = state.decisions.requirements.get(key)?.clone();
            let deployment = value.metadata.deployment_key;
            deployed(deployment, Definition::DecisionRequirements(value))
        }
        Global::Decision => {
            let value = state.decisions.decisions.get(key)?.clone();
            deployed(value.deployment_key, Definition::Decision(value))
        }
        Global::Form => {
            let value = state.forms.get(key)?.clone();
            deployed(value.0.metadata.deployment_key, Definition::Form(value))
        }
        Global::Resource => {
            let value = state.resources.get(key)?.clone();
            let deployment = value.0.metadata.deployment_key;
            deployed(deployment, Definition::Resource(value))
        }
    })
}

fn deployed(deployment_key: Key, definition: Definition) -> Distributed {
    Distributed::Deployment {
        deployment_key,
        definitions: vec![definition],
    }
}
