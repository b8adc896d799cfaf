//! Adding partitions: the new ones receive all global data, whatever the network does meanwhile.

use std::collections::HashSet;
use std::sync::Arc;

use crate::identity::{member, new, user};
use proptest::prelude::*;
use skep_engine::{EngineConfig, RemoteCommand, ScalingCommand};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::value::*;
use skep_protocol::{Document, Routing};
use skep_testkit::rig::*;

pub(crate) const FOUNDING: u32 = 2;
pub(crate) const PARTITIONS: u32 = 4;

/// Partitions 3 and 4 exist, but the others do not know yet.
pub(crate) fn rig() -> Rig {
    Rig::with_configs(PARTITIONS, |id| EngineConfig {
        routing: Arc::new(if id <= FOUNDING {
            Routing::new(FOUNDING)
        } else {
            Routing::scaled(FOUNDING, FOUNDING, PARTITIONS)
        }),
        ..config(id, FOUNDING)
    })
}

fn process(version: usize) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", &format!("v{version}"))
        .end("e")
}

pub(crate) fn scale_up(rig: &mut Rig) {
    scale_up_to(rig, PARTITIONS);
}

fn scale_up_to(rig: &mut Rig, partitions: u32) {
    rig.send(Command::ScaleUp { partitions }).unwrap();
}

/// Number of commands that the given partition keeps because some other has not acknowledged them.
fn kept_by(rig: &mut Rig, partition: u32) -> usize {
    rig.engine(partition).state.distributions.table.len()
}

fn broadcast(rig: &mut Rig, partition: u32) {
    let signal = Command::BroadcastSignal(BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::default(),
    });
    rig.send_to(partition, signal);
}

/// Lets all commands arrive: unanswered ones are repeated.
pub(crate) fn settle(rig: &mut Rig) {
    rig.fate = Box::new(|_| Fate::Arrives);
    for _ in 0..6 {
        rig.advance(10_000);
    }
}

pub(crate) fn activate(rig: &mut Rig) {
    activate_on(rig, 1..=PARTITIONS);
}

/// Tells these partitions that the new ones are active.
fn activate_on(rig: &mut Rig, partitions: impl IntoIterator<Item = u32>) {
    assert_eq!(rig.engine(1).scaled_up_to(), PARTITIONS);
    for id in partitions {
        let routing = Routing::scaled(FOUNDING, PARTITIONS, PARTITIONS);
        rig.engine(id).set_routing(Arc::new(routing));
    }
}

/// Table and key, and the bytes of the value.
type Row = ((u8, Vec<u8>), Vec<u8>);

/// Rows of definitions, listeners, cluster variables and identity.
fn global_rows(rig: &mut Rig, partition: u32) -> Vec<Row> {
    const TABLES: [u8; 8] = [1, 36, 40, 41, 42, 43, 60, 67];
    let dump = rig.engine(partition).state.dump();
    let rows = dump.into_iter();
    rows.filter(|((table, _), _)| TABLES.contains(table))
        .collect()
}

fn expect_the_same_everywhere(rig: &mut Rig) {
    let known = global_rows(rig, 2);
    let clock = rig.engine(2).state.pinned_clock();
    for new in FOUNDING + 1..=PARTITIONS {
        let rows = global_rows(rig, new);
        let missing = known.iter().filter(|row| !rows.contains(row));
        let missing: Vec<_> = missing.map(|(row, _)| row).collect();
        let too_much = rows.iter().filter(|row| !known.contains(row));
        let too_much: Vec<_> = too_much.map(|(row, _)| row).collect();
        assert!(
            missing.is_empty() && too_much.is_empty(),
            "partition {new} lacks {missing:?} and has {too_much:?}"
        );
        let state = &rig.engine(new).state;
        assert_eq!(state.pinned_clock(), clock);
    }
}

fn dmn() -> String {
    r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="rules" name="rules" namespace="n">
        <decision id="pick" name="pick"><variable name="pick"/><literalExpression><text>1</text></literalExpression></decision>
    </definitions>"#.to_string()
}

/// One entity of each kind that every partition holds.
fn fill(rig: &mut Rig) {
    rig.deploy(process(1));
    rig.deploy(process(2));
    rig.deploy_files(vec![("rules.dmn", dmn())]).unwrap();
    let form = r#"{"id":"ask","components":[],"schemaVersion":1}"#;
    rig.deploy_files(vec![("ask.form", form.to_string())])
        .unwrap();
    rig.deploy_files(vec![("run.rpa", r#"{"id":"run"}"#.to_string())])
        .unwrap();
    set(rig, "limit", "2");
    let listener = GlobalListenerValue {
        id: "l".into(),
        job_type: "l".into(),
        retries: 2,
        events: vec![GlobalListenerEvent::One(ListenerEvent::Completing)],
        after_non_global: false,
        priority: 50,
    };
    rig.send(Command::CreateGlobalListener(listener)).unwrap();
    let commands = [
        IdentityCommand::CreateUser(user("ada")),
        IdentityCommand::CreateGroup(new("staff")),
        IdentityCommand::CreateRole(new("boss")),
        IdentityCommand::CreateTenant(new("acme")),
        IdentityCommand::AddToGroup(member("staff", EntityType::User, "ada")),
        IdentityCommand::AddToRole(member("boss", EntityType::Group, "staff")),
        IdentityCommand::AddToTenant(member("acme", EntityType::User, "ada")),
    ];
    for command in commands {
        rig.send(Command::Identity(command)).unwrap();
    }
}

fn set(rig: &mut Rig, name: &str, value: &str) -> u64 {
    rig.send_async(Command::CreateClusterVariable(ClusterVariableValue {
        name: name.into(),
        value: value.into(),
        tenant: None,
    }))
}

#[test]
fn a_new_partition_gets_the_global_state() {
    let mut rig = rig();
    fill(&mut rig);
    let now = rig.now + 1_000;
    rig.send(Command::PinClock { timestamp: now }).unwrap();
    scale_up(&mut rig);
    settle(&mut rig);
    expect_the_same_everywhere(&mut rig);
    activate(&mut rig);
    let instance = rig.create_on(3, "p", "{}");
    assert_eq!(rig.jobs("v2").len(), 1, "the latest version");
    assert_eq!(instance.partition(), Some(3));
}

#[test]
fn large_global_state_comes_in_parts() {
    let mut rig = rig();
    for n in 0..1_200 {
        set(&mut rig, &format!("v{n}"), "1");
    }
    scale_up(&mut rig);
    settle(&mut rig);
    expect_the_same_everywhere(&mut rig);
    let parts = rig.seen.iter();
    let parts = parts.filter(|r| r.partition == 1 && r.intent == "STATUS");
    assert_eq!(parts.count(), 2 * 3, "two partitions ask for three parts");
}

#[test]
fn nothing_is_kept_for_a_partition_that_does_not_exist_yet() {
    let mut rig = rig();
    rig.fate = Box::new(|command| match command {
        RemoteCommand::Scaling(_) => Fate::Lost,
        _ => Fate::Arrives,
    });
    scale_up(&mut rig);
    rig.deploy(process(1));
    for n in 0..5 {
        set(&mut rig, &format!("v{n}"), "1");
        broadcast(&mut rig, 1);
        broadcast(&mut rig, 2);
        rig.advance(10_000);
    }
    assert_eq!((kept_by(&mut rig, 1), kept_by(&mut rig, 2)), (0, 0));
    settle(&mut rig);
    expect_the_same_everywhere(&mut rig);
}

/// Leaves the new partitions' requests for the global state unanswered.
fn nobody_answers(command: &RemoteCommand) -> Fate {
    match command {
        RemoteCommand::Scaling(ScalingCommand::GlobalState { .. }) => Fate::Lost,
        _ => Fate::Arrives,
    }
}

#[test]
fn clients_do_not_wait_for_an_incomplete_partition() {
    let mut rig = rig();
    rig.fate = Box::new(nobody_answers);
    scale_up(&mut rig);
    rig.advance(10_000);
    rig.deploy(process(1));
    assert_eq!(kept_by(&mut rig, 1), 1);
    settle(&mut rig);
    expect_the_same_everywhere(&mut rig);
    assert_eq!(kept_by(&mut rig, 1), 0);
}

#[test]
fn no_signals_are_kept_for_an_incomplete_partition() {
    let mut rig = rig();
    rig.fate = Box::new(nobody_answers);
    scale_up(&mut rig);
    rig.advance(10_000);
    for _ in 0..5 {
        broadcast(&mut rig, 1);
        broadcast(&mut rig, 2);
    }
    assert_eq!((kept_by(&mut rig, 1), kept_by(&mut rig, 2)), (0, 0));
}

#[test]
fn clients_wait_for_it_as_soon_as_it_may_get_work() {
    let mut rig = rig();
    scale_up(&mut rig);
    settle(&mut rig);
    assert_eq!(rig.engine(1).scaled_up_to(), PARTITIONS);
    let mut lost = 0;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Distribute { .. } if lost < 3 => {
            lost += 1;
            Fate::Lost
        }
        _ => Fate::Arrives,
    });
    let request = set(&mut rig, "late", "1");
    assert_eq!(rig.answer(request), None);
    settle(&mut rig);
    assert!(matches!(rig.answer(request), Some(Ok(_))));
}

#[test]
fn messages_and_signals_reach_instances_on_new_partitions() {
    let mut rig = rig();
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_message("m", "paid", "=order")
        .catch_signal("sig", "go")
        .service_task("task", "work")
        .end("e");
    rig.deploy(bpmn);
    scale_up(&mut rig);
    settle(&mut rig);
    activate(&mut rig);
    for (partition, order) in [(3, "a"), (4, "b")] {
        rig.create_on(partition, "p", &format!(r#"{{"order":"{order}"}}"#));
    }
    for order in ["a", "b"] {
        let message = Command::PublishMessage(Rig::message("paid", order, 60_000, "{}"));
        let of = Routing::new(FOUNDING).of_correlation(order);
        rig.send_to(of, message);
    }
    // A signal without subscriptions on its partition.
    broadcast(&mut rig, 2);
    assert_eq!(rig.jobs("work").len(), 2);
}

#[test]
fn a_signal_of_a_partition_that_learns_late_reaches_new_ones() {
    let mut rig = rig();
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .catch_signal("sig", "go")
            .end("e"),
    );
    scale_up(&mut rig);
    settle(&mut rig);
    activate_on(&mut rig, [1, 3]);
    let instance = rig.create_on(3, "p", "{}");
    broadcast(&mut rig, 2);
    rig.assert_completed(instance);
}

#[test]
fn scaling_down_is_refused_and_repeating_a_scaling_has_no_effect() {
    let mut rig = rig();
    scale_up(&mut rig);
    settle(&mut rig);
    let written = rig.seen.len();
    scale_up(&mut rig);
    assert_eq!(rig.seen.len(), written);
    let (kind, reason) = rejected(rig.send(Command::ScaleUp { partitions: 3 }));
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("there are 4 already"), "{reason}");
}

/// The request for more partitions was abandoned before any of them existed.
#[test]
fn an_abandoned_scaling_can_be_replaced_by_a_smaller_one() {
    let mut rig = rig();
    rig.fate = Box::new(|command| match command {
        RemoteCommand::Scaling(_) => Fate::Lost,
        _ => Fate::Arrives,
    });
    scale_up(&mut rig);
    rig.advance(10_000);
    scale_up_to(&mut rig, 3);
    settle(&mut rig);
    assert_eq!(rig.engine(1).scaled_up_to(), 3);
    rig.deploy(process(1));
    assert_eq!(kept_by(&mut rig, 1), 0);
    scale_up(&mut rig);
    settle(&mut rig);
    assert_eq!(rig.engine(1).scaled_up_to(), PARTITIONS);
    expect_the_same_everywhere(&mut rig);
}

#[test]
fn partitions_that_have_requested_the_state_cannot_be_dropped() {
    let mut rig = rig();
    rig.fate = Box::new(nobody_answers);
    scale_up(&mut rig);
    rig.advance(10_000);
    let (kind, _) = rejected(rig.send(Command::ScaleUp { partitions: 3 }));
    assert_eq!(kind, "INVALID_STATE");
}

#[test]
fn scaling_works_repeatedly() {
    let mut rig = Rig::with_configs(PARTITIONS, |id| EngineConfig {
        routing: Arc::new(match id {
            1 => Routing::new(1),
            _ => Routing::scaled(1, 1, id),
        }),
        ..config(id, 1)
    });
    rig.deploy(process(1));
    for partitions in 2..=PARTITIONS {
        rig.send(Command::ScaleUp { partitions }).unwrap();
        settle(&mut rig);
        assert_eq!(rig.engine(1).scaled_up_to(), partitions);
        rig.deploy(process(partitions as usize));
    }
    settle(&mut rig);
    expect_the_same_everywhere(&mut rig);
}

/// Commands and events while the new partitions start.
#[derive(Clone, Debug)]
enum Act {
    Deploy(usize),
    Delete,
    Set(u8),
    Unset(u8),
    Signal(u32),
    Pass,
    ScaleUp,
    NewLeader(u32),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (0usize..4).prop_map(Act::Deploy),
        2 => Just(Act::Delete),
        3 => (0u8..3).prop_map(Act::Set),
        2 => (0u8..3).prop_map(Act::Unset),
        1 => (1..=FOUNDING).prop_map(Act::Signal),
        4 => Just(Act::Pass),
        3 => Just(Act::ScaleUp),
        1 => (1..=PARTITIONS).prop_map(Act::NewLeader),
    ];
    proptest::collection::vec(act, 1..25)
}

/// A cluster variable, set to the number of the act, or unset.
struct Decided {
    name: String,
    is_set: bool,
    request: u64,
}

#[derive(Default)]
struct Model {
    /// In order; a variable's value is its index.
    decided: Vec<Decided>,
}

impl Model {
    fn perform(&mut self, rig: &mut Rig, act: &Act) {
        match act {
            Act::Deploy(version) => {
                rig.send_async(Command::Deploy(Deploy {
                    resources: vec![Resource {
                        name: "p.bpmn".into(),
                        content: process(*version).xml().into(),
                    }],
                }));
            }
            Act::Delete => {
                let state = &rig.engine(1).state;
                let latest = state.processes.latest(&Default::default(), "p");
                if let Some(resource_key) = latest.map(|process| process.key) {
                    rig.send_async(Command::DeleteResource {
                        resource_key,
                        delete_history: false,
                    });
                }
            }
            Act::Set(name) => {
                let name = format!("v{name}");
                let request = set(rig, &name, &self.decided.len().to_string());
                self.note(name, true, request);
            }
            Act::Unset(name) => {
                let name = format!("v{name}");
                let request = rig.send_async(Command::DeleteClusterVariable {
                    name: name.as_str().into(),
                    tenant: None,
                });
                self.note(name, false, request);
            }
            Act::Signal(partition) => broadcast(rig, *partition),
            Act::Pass => rig.advance(10_000),
            Act::ScaleUp => scale_up(rig),
            Act::NewLeader(partition) => rig.change_leader(*partition),
        }
    }

    fn note(&mut self, name: String, is_set: bool, request: u64) {
        self.decided.push(Decided {
            name,
            is_set,
            request,
        });
    }

    /// An answered change is visible, unless superseded by a later one, on every partition that may get work.
    fn check(&self, rig: &mut Rig) {
        let whole = rig.engine(1).state.scaling.get().bootstrapped.clone();
        for partition in (1..=FOUNDING).chain(whole) {
            for (place, decided) in self.decided.iter().enumerate() {
                let answer = rig.look_at_answer(decided.request);
                if !matches!(answer, Some(Ok(_))) {
                    continue;
                }
                let name = decided.name.as_str();
                let variables = &rig.engine(partition).state.cluster_variables;
                let found = variables.find(None, name);
                let found = found.map(|(_, value)| value.parse::<usize>().unwrap());
                let mut later = self.decided[place + 1..].iter();
                let is_right = match found {
                    Some(value) => value > place || value == place && decided.is_set,
                    None => !decided.is_set || later.any(|it| it.name == name && !it.is_set),
                };
                assert!(
                    is_right,
                    "partition {partition} has {found:?} for {name}, and {place} was answered"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_is_lost_or_comes_late_or_twice_all_partitions_have_the_same(acts in acts(), fates in proptest::collection::vec(0u8..5, 1..40)) {
        let mut rig = rig();
        let mut fates = fates.into_iter().cycle();
        rig.fate = Box::new(move |_| match fates.next() {
            Some(0) => Fate::Lost,
            Some(1) => Fate::Twice,
            Some(2) => Fate::Late,
            _ => Fate::Arrives,
        });
        let mut model = Model::default();
        for act in &acts {
            model.perform(&mut rig, act);
            model.check(&mut rig);
        }
        scale_up(&mut rig);
        settle(&mut rig);
        model.check(&mut rig);
        prop_assert_eq!(rig.engine(1).scaled_up_to(), PARTITIONS);
        expect_the_same_everywhere(&mut rig);
        let mut created = HashSet::new();
        for process in rig.events("PROCESS").filter(|r| r.intent == "CREATED") {
            prop_assert!(created.insert((process.partition, process.key)), "{process:?} comes twice");
        }
        for partition in 1..=PARTITIONS {
            prop_assert_eq!(kept_by(&mut rig, partition), 0);
        }
    }
}
