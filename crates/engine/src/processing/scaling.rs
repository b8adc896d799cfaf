//! SCALE: partitions are added.
//!
//! The first partition tells all others how many there are to be. From then on each of them sends the new ones what every
//! partition carries out, and keeps it for them. A new partition pulls what every partition has from the first one, part by part;
//! only then does it take what was kept. The cluster gives it work when the first partition has noted that it is whole.

use skep_protocol::intent::ScaleIntent;
use skep_protocol::record::encode;
use skep_protocol::value::ScaleValue;
use skep_protocol::{Key, RejectionType, Response, Routing};

use super::deployment::distribution;
use super::identity::IdentityEvent;
use super::{Context, Outcome, reject};
use crate::remote::{Definition, Distributed, GlobalPlace, RemoteCommand, ScalingCommand};
use crate::state::{State, StoreError};

/// A part that has so many bytes gets no more.
const PART_BYTES: usize = 1 << 20;
/// Likewise things: each is an event at least.
const PART_ITEMS: usize = 500;

/// So many partitions carry out what all carry out.
pub(crate) fn targets(cx: &Context<'_>) -> u32 {
    let told = cx.state.scaling.get().partitions;
    told.max(cx.config.routing.count())
}

/// Clients wait until this partition has carried out what all do: it takes part, or is about to.
pub(crate) fn is_waited_for(cx: &Context<'_>, partition: u32) -> bool {
    partition <= cx.config.routing.count()
        || cx.state.scaling.get().bootstrapped.contains(&partition)
}

/// This partition is new, and does not have yet what every partition has.
pub(crate) fn is_bootstrapping(routing: &Routing, state: &State) -> bool {
    let own = state.partition;
    own > routing.founding() && !state.scaling.get().bootstrapped.contains(&own)
}

/// This partition is new, and has something to ask or to say.
pub(crate) fn is_under_way(routing: &Routing, state: &State) -> bool {
    state.partition > routing.founding() && state.scaling.get().finished.is_none()
}

fn value(cx: &Context<'_>, partitions: u32, redistributed: &[u32]) -> ScaleValue {
    ScaleValue {
        desired_partition_count: partitions,
        message_correlation_partitions: cx.config.routing.founding(),
        redistributed_partitions: redistributed.to_vec(),
    }
}

/// SCALE SCALE_UP, on the first partition. Once more is nothing.
pub(crate) fn scale_up(cx: &mut Context<'_>, partitions: u32) -> Outcome {
    let there = targets(cx);
    if partitions < there {
        let reason = format!(
            "Expected to scale up to {partitions} partitions, but there are {there} already, or are about to be."
        );
        return Err(reject(RejectionType::InvalidState, "SCALE_UP", reason));
    }
    if partitions > there {
        scaling_up(cx, partitions);
        let key = cx.next_key();
        distribution::spread(cx, key, Distributed::ScaleUp { partitions });
    }
    Ok(Some(Response::Empty))
}

pub(crate) fn scaling_up(cx: &mut Context<'_>, partitions: u32) {
    let value = value(cx, partitions, &[]);
    cx.event(Key::NONE, ScaleIntent::ScalingUp, &value);
}

/// `key` is that of the distribution.
pub(crate) fn scaled_up(cx: &mut Context<'_>, key: Key, partitions: u32) {
    let whole: Vec<u32> = (cx.config.routing.founding() + 1..=partitions).collect();
    let value = value(cx, partitions, &whole);
    cx.event(key, ScaleIntent::ScaledUp, &value);
}

/// What was not answered is asked for once more.
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

/// A command between a new partition and the first one.
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
fn give(cx: &mut Context<'_>, partition: u32, after: GlobalPlace) {
    // Nobody sends it what is decided from here on: it would miss that.
    if partition > targets(cx) {
        return;
    }
    // The state cannot be read: the partition is about to stop.
    let Ok((items, next)) = part(cx.state, after) else {
        return;
    };
    let answer = ScalingCommand::GlobalState {
        after,
        items,
        next,
        partitions: targets(cx),
    };
    cx.send(partition, RemoteCommand::Scaling(answer));
}

/// SCALE STATUS_RESPONSE, on a new partition. An answer that comes late, or twice, is of no use.
fn take(
    cx: &mut Context<'_>,
    after: GlobalPlace,
    items: &[Distributed],
    (next, partitions): (Option<GlobalPlace>, u32),
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

/// SCALE MARK_PARTITION_BOOTSTRAPPED, on the first partition. What was decided while the new one pulled goes to it before: from the
/// mark on clients wait for it, so that nobody finds it behind.
fn mark(cx: &mut Context<'_>, partition: u32) {
    if !cx.state.scaling.get().bootstrapped.contains(&partition) {
        if distribution::send_next(cx, partition) {
            cx.volatile.nearly_bootstrapped.insert(partition);
            return;
        }
        cx.volatile.nearly_bootstrapped.remove(&partition);
        let value = value(cx, targets(cx), &[partition]);
        cx.event(Key::NONE, ScaleIntent::PartitionBootstrapped, &value);
    }
    let partitions = targets(cx);
    let scaling = cx.state.scaling.get();
    let mut new = cx.config.routing.founding() + 1..=partitions;
    if scaling.finished.is_none() && new.all(|new| scaling.bootstrapped.contains(&new)) {
        let key = cx.next_key();
        scaled_up(cx, key, partitions);
        distribution::spread(cx, key, Distributed::ScaledUp { partitions });
    }
}

/// The partition has acknowledged everything so far.
pub(crate) fn caught_up(cx: &mut Context<'_>, partition: u32) {
    if cx.volatile.nearly_bootstrapped.contains(&partition) {
        mark(cx, partition);
    }
}

/// The kinds of things that every partition has, in the order in which a new one gets them.
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

type Part = (Vec<Distributed>, Option<GlobalPlace>);

/// What every partition has, from behind a place on.
fn part(state: &mut State, after: GlobalPlace) -> Result<Part, StoreError> {
    let (mut items, mut bytes) = (Vec::new(), 0);
    for kind in KINDS.into_iter().skip(usize::from(after.kind)) {
        let mut keys = keys(state, kind)?;
        keys.sort_unstable();
        if kind as u8 == after.kind {
            keys.retain(|key| *key > after.key);
        }
        for key in keys {
            let Some(item) = item(state, kind, key) else {
                continue;
            };
            bytes += encode(&item).len();
            items.push(item);
            if bytes >= PART_BYTES || items.len() >= PART_ITEMS {
                let kind = kind as u8;
                return Ok((items, Some(GlobalPlace { kind, key })));
            }
        }
    }
    Ok((items, None))
}

fn keys(state: &State, kind: Global) -> Result<Vec<Key>, StoreError> {
    let mut keys = Vec::new();
    match kind {
        Global::Clock => keys.extend(state.pinned_clock().map(|_| Key(0))),
        Global::Identity => state.identity.table.for_each(|key, _| keys.push(key))?,
        Global::ClusterVariable => {
            let table = &state.cluster_variables.table;
            table.for_each(|key, _| keys.push(key))?;
        }
        Global::Listener => {
            let table = &state.global_listeners.table;
            table.for_each(|key, _| keys.push(key))?;
        }
        Global::Process => keys.extend(state.processes.definitions.keys()),
        Global::DecisionRequirements => keys.extend(state.decisions.requirements.keys()),
        Global::Decision => keys.extend(state.decisions.decisions.keys()),
        Global::Form => keys.extend(state.forms.keys()),
        Global::Resource => keys.extend(state.resources.keys()),
    }
    Ok(keys)
}

/// As if it had just been decided.
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
