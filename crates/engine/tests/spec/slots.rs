//! Slots of correlation keys move to new partitions, whatever the network does meanwhile: nothing is lost, and nothing happens twice.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use skep_engine::state::subscriptions::MessageSubscription;
use skep_engine::state::{Row, read_row};
use skep_engine::{NoStreams, RemoteCommand, RoutingCommand, Sent};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::{Key, Response, Routing};
use skep_testkit::rig::*;

use crate::scaling::{self, FOUNDING, PARTITIONS, settle};

/// Version of the routing by which slots move.
const MOVING: u64 = 7;

fn routing() -> Routing {
    Routing::scaled(FOUNDING, PARTITIONS, PARTITIONS)
}

fn tell(rig: &mut Rig, routing: Routing) {
    let routing = Arc::new(routing);
    for partition in &mut rig.partitions {
        partition.engine.set_routing(Arc::clone(&routing));
        partition.twin.set_routing(Arc::clone(&routing));
    }
}

fn waits() -> Bpmn {
    Bpmn::process("waits")
        .start("s")
        .catch_message("catch", "m", "=key")
        .service_task("task", "work")
        .end("e")
}

fn begins() -> Bpmn {
    Bpmn::process("begins")
        .start_message("s", "b")
        .service_task("task", "begun")
        .end("e")
}

/// Four partitions with work. Slots are still on the first two.
fn rig() -> Rig {
    let mut rig = scaling::rig();
    rig.deploy(waits());
    rig.deploy(begins());
    scaling::scale_up(&mut rig);
    settle(&mut rig);
    scaling::activate(&mut rig);
    tell(&mut rig, routing());
    rig
}

fn begin_moving(rig: &mut Rig) {
    let moving = routing().relocating_to(Some(PARTITIONS));
    tell(rig, moving.at_version(MOVING));
    rig.run_due();
}

/// All slots move, and the cluster agrees on that.
fn move_all(rig: &mut Rig) {
    begin_moving(rig);
    settle(rig);
    assert_eq!(rig.engine(1).relocated_at(), Some(MOVING));
    tell(rig, moved().at_version(MOVING + 1));
}

fn moved() -> Routing {
    routing().spread_over(&[PARTITIONS])
}

fn publish(rig: &mut Rig, name: &str, key: &str, id: &str) -> u64 {
    let message = PublishMessage {
        message_id: id.into(),
        ..Rig::message(name, key, 1000 * MINUTE, "{}")
    };
    // By an outdated routing.
    let partition = routing().of_correlation(key);
    rig.send_to(partition, Command::PublishMessage(message))
}

/// Completes all jobs of the type. Returns their number.
fn work_all(rig: &mut Rig, job_type: &str) -> usize {
    let jobs = rig.jobs(job_type);
    for job in &jobs {
        rig.complete(job, "{}");
    }
    settle(rig);
    jobs.len()
}

fn create(rig: &mut Rig, partition: u32, key: &str) -> Key {
    rig.create_on(partition, "waits", &format!(r#"{{"key":"{key}"}}"#))
}

/// The message side of every subscription is where its correlation key belongs.
fn expect_subscriptions_in_place(rig: &mut Rig, expected: usize) {
    let mut found = 0;
    for partition in 1..=PARTITIONS {
        for ((table, _), row) in rig.engine(partition).state.dump() {
            if table == MessageSubscription::TABLE {
                let row: MessageSubscription = read_row(&row).unwrap();
                assert_eq!(moved().of_correlation(&row.correlation_key), partition);
                found += 1;
            }
        }
    }
    assert_eq!(found, expected);
}

fn expect_no_move(rig: &mut Rig) {
    for partition in 1..=PARTITIONS {
        assert_eq!(rig.engine(partition).state.slots.departing(), None);
    }
}

/// How often each message was taken, by its key.
fn taken(rig: &Rig) -> BTreeMap<i64, usize> {
    let mut taken = BTreeMap::new();
    let correlated = rig.events("PROCESS_MESSAGE_SUBSCRIPTION");
    for event in correlated.filter(|event| event.intent == "CORRELATED") {
        let message = event.field("messageKey").as_i64().unwrap();
        *taken.entry(message).or_default() += 1;
    }
    taken
}

/// A key whose slot moves, from the first partition.
fn moving_key() -> String {
    let moves =
        |key: &String| routing().of_correlation(key) == 1 && moved().of_correlation(key) > FOUNDING;
    let mut keys = (0..).map(|number| format!("key-{number}"));
    keys.find(moves).unwrap()
}

#[test]
fn subscriptions_and_messages_move_and_find_each_other() {
    let mut rig = rig();
    let keys: Vec<String> = (0..120).map(|number| format!("k{number}")).collect();
    let mut instances = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        if number % 2 == 0 {
            instances.push(create(&mut rig, number as u32 % PARTITIONS + 1, key));
        } else {
            publish(&mut rig, "m", key, key);
        }
    }
    move_all(&mut rig);
    expect_no_move(&mut rig);
    expect_subscriptions_in_place(&mut rig, instances.len());
    for (number, key) in keys.iter().enumerate() {
        if number % 2 == 0 {
            publish(&mut rig, "m", key, "");
        } else {
            instances.push(create(&mut rig, number as u32 % PARTITIONS + 1, key));
        }
    }
    settle(&mut rig);
    assert_eq!(work_all(&mut rig, "work"), keys.len());
    for instance in instances {
        rig.assert_completed(instance);
    }
}

#[test]
fn an_id_stays_known_and_a_message_expires_once_where_it_has_moved_to() {
    let mut rig = rig();
    let key = moving_key();
    let first = publish(&mut rig, "m", &key, "id");
    assert!(matches!(rig.answer(first), Some(Ok(_))));
    move_all(&mut rig);
    let again = publish(&mut rig, "m", &key, "id");
    let (kind, _) = rejected(rig.answer(again).unwrap());
    assert_eq!(kind, "ALREADY_EXISTS");
    rig.advance(2000 * MINUTE);
    let expired = rig
        .events("MESSAGE")
        .filter(|event| event.intent == "EXPIRED");
    assert_eq!(expired.count(), 1);
}

#[test]
fn an_instance_started_by_a_message_keeps_others_from_starting_where_its_key_has_moved_to() {
    let mut rig = rig();
    let key = moving_key();
    publish(&mut rig, "b", &key, "");
    move_all(&mut rig);
    publish(&mut rig, "b", &key, "");
    publish(&mut rig, "b", &key, "");
    for begun in 1..=3 {
        assert_eq!(work_all(&mut rig, "begun"), 1, "{begun}");
    }
    assert_eq!(work_all(&mut rig, "begun"), 0);
    for partition in 1..=PARTITIONS {
        let state = &rig.engine(partition).state;
        assert_eq!(state.message_starts.started.len(), 0);
        assert_eq!(state.slots.started.len(), 0);
    }
}

/// The end of an instance is reported again until the partition that has its key knows it.
#[test]
fn an_instance_that_ends_while_its_key_moves_is_followed_by_the_next_one() {
    for lost in 0..4 {
        let mut rig = rig();
        let key = moving_key();
        publish(&mut rig, "b", &key, "");
        publish(&mut rig, "b", &key, "");
        let mut count = 0;
        rig.fate = Box::new(move |command| match command {
            RemoteCommand::Routing(RoutingCommand::Arrive(_)) if lost == 0 => Fate::Lost,
            RemoteCommand::Routing(RoutingCommand::Leave { .. }) if lost == 1 => Fate::Lost,
            RemoteCommand::Routing(RoutingCommand::EndStart(_)) if lost > 1 && count < lost => {
                count += 1;
                Fate::Lost
            }
            _ => Fate::Arrives,
        });
        begin_moving(&mut rig);
        let first = rig.job("begun");
        rig.complete(&first, "{}");
        settle(&mut rig);
        assert_eq!(work_all(&mut rig, "begun"), 1, "{lost}");
        assert_eq!(rig.engine(1).state.slots.started.len(), 0);
    }
}

#[test]
fn an_instance_that_leaves_its_process_frees_its_key_where_that_has_moved_to() {
    let mut rig = rig();
    let other = Bpmn::process("other").start("s");
    rig.deploy(other.service_task("task", "begun").end("e"));
    let key = moving_key();
    publish(&mut rig, "b", &key, "");
    let instance = rig.instance_of("begins");
    move_all(&mut rig);
    publish(&mut rig, "b", &key, "");
    rig.migrate(instance, "other", &[("task", "task")]).unwrap();
    settle(&mut rig);
    assert_eq!(work_all(&mut rig, "begun"), 2, "the next one has started");
    for partition in 1..=PARTITIONS {
        let state = &rig.engine(partition).state;
        assert_eq!(state.message_starts.started.len(), 0);
        assert_eq!(state.slots.started.len(), 0);
    }
}

/// Without the key, a partition cannot tell whether the subscription is where its slot has moved to.
#[test]
fn a_partition_that_gave_slots_away_does_not_report_what_it_does_not_know_as_closed() {
    let mut rig = rig();
    let key = moving_key();
    let instance = create(&mut rig, 2, &key);
    move_all(&mut rig);
    let home = rig.engine(2);
    home.set_routing(Arc::new(routing().at_version(MOVING)));
    // As far as it knows, a node is older.
    home.config().oldest_node.speaks(Some(5));
    rig.cancel(instance).unwrap();
    settle(&mut rig);
    expect_subscriptions_in_place(&mut rig, 1);
    rig.engine(2).config().oldest_node.speaks(None);
    settle(&mut rig);
    expect_subscriptions_in_place(&mut rig, 0);
    assert_eq!(rig.engine(2).state.process_subscriptions.table.len(), 0);
}

#[test]
fn a_correlation_under_way_ends_once_wherever_its_answer_goes() {
    type Loses = fn(&RemoteCommand) -> bool;
    let kinds: [Loses; 4] = [
        |command| matches!(command, RemoteCommand::CorrelateSubscription(_)),
        |command| matches!(command, RemoteCommand::MessageCorrelated { .. }),
        |command| matches!(command, RemoteCommand::MessageSubscriptionClosed { .. }),
        |command| matches!(command, RemoteCommand::CloseMessageSubscriptionByKey { .. }),
    ];
    for (kind, loses) in kinds.into_iter().enumerate() {
        let mut rig = rig();
        let key = moving_key();
        let instances = [create(&mut rig, 2, &key), create(&mut rig, 3, &key)];
        rig.fate = Box::new(move |command| {
            if loses(command) {
                Fate::Lost
            } else {
                Fate::Arrives
            }
        });
        if kind == 3 {
            rig.cancel(instances[0]).unwrap();
        }
        publish(&mut rig, "m", &key, "");
        begin_moving(&mut rig);
        settle(&mut rig);
        assert_eq!(taken(&rig).values().collect::<Vec<_>>(), [&1], "{kind}");
        publish(&mut rig, "m", &key, "");
        settle(&mut rig);
        let expected = if kind == 3 { 1 } else { 2 };
        assert_eq!(taken(&rig).len(), expected, "{kind}");
        work_all(&mut rig, "work");
        rig.assert_completed(instances[1]);
    }
}

#[test]
fn a_client_who_waits_for_a_correlation_gets_its_answer_before_the_key_moves() {
    let mut rig = rig();
    let key = moving_key();
    let instance = create(&mut rig, 2, &key);
    rig.fate = Box::new(|command| match command {
        RemoteCommand::MessageCorrelated { .. } => Fate::Late,
        _ => Fate::Arrives,
    });
    let correlate = CorrelateMessage {
        name: "m".into(),
        correlation_key: key.as_str().into(),
        variables: Default::default(),
    };
    let request = rig.send_to(1, Command::CorrelateMessage(correlate.clone()));
    begin_moving(&mut rig);
    // It waits with the others.
    let next = rig.send_to(1, Command::CorrelateMessage(correlate));
    assert_eq!((rig.answer(request), rig.answer(next)), (None, None));
    rig.advance(100);
    let Some(Ok(Response::MessageCorrelated {
        process_instance_key,
        ..
    })) = rig.answer(request)
    else {
        panic!("the client has no answer");
    };
    assert_eq!(process_instance_key, instance);
    settle(&mut rig);
    assert_eq!(rig.engine(1).relocated_at(), Some(MOVING));
    let (kind, _) = rejected(rig.answer(next).unwrap());
    assert_eq!(kind, "NOT_FOUND");
    assert!(rig.aborted().is_empty());
}

#[test]
fn a_key_does_not_wait_for_ever_for_an_instance_that_does_not_answer() {
    let mut rig = rig();
    let key = moving_key();
    let instance = create(&mut rig, 2, &key);
    rig.fate = Box::new(|command| match command {
        RemoteCommand::CorrelateSubscription(_) => Fate::Lost,
        _ => Fate::Arrives,
    });
    let correlate = CorrelateMessage {
        name: "m".into(),
        correlation_key: key.as_str().into(),
        variables: Default::default(),
    };
    let request = rig.send_to(1, Command::CorrelateMessage(correlate));
    begin_moving(&mut rig);
    rig.advance(1_000);
    assert_eq!(rig.aborted(), [request]);
    settle(&mut rig);
    assert_eq!(taken(&rig).len(), 1, "the message was on its way");
    work_all(&mut rig, "work");
    rig.assert_completed(instance);
}

/// Slots that have begun to move arrive; the others stay.
#[test]
fn a_cancelled_relocation_leaves_no_slot_halfway_and_goes_on_later() {
    let mut rig = rig();
    let keys: Vec<String> = (0..60).map(|number| format!("k{number}")).collect();
    for key in &keys {
        create(&mut rig, 2, key);
    }
    let mut arrived = 0;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Routing(RoutingCommand::Arrive(_)) => {
            arrived += 1;
            if arrived > 2 {
                Fate::Lost
            } else {
                Fate::Arrives
            }
        }
        _ => Fate::Arrives,
    });
    begin_moving(&mut rig);
    tell(&mut rig, routing().at_version(MOVING + 1));
    settle(&mut rig);
    expect_no_move(&mut rig);
    for key in &keys {
        publish(&mut rig, "m", key, "");
    }
    settle(&mut rig);
    assert_eq!(taken(&rig).len(), keys.len());
    let moving = routing().relocating_to(Some(PARTITIONS));
    tell(&mut rig, moving.at_version(MOVING + 2));
    settle(&mut rig);
    assert_eq!(rig.engine(1).relocated_at(), Some(MOVING + 2));
    expect_no_move(&mut rig);
}

/// Also when a partition with a lower number has the key again: the keys of its messages are lower than those of earlier ones.
#[test]
fn messages_are_taken_in_the_order_in_which_they_were_published_wherever_their_key_moves() {
    let mut rig = rig();
    let key = moving_key();
    let mut table = routing();
    for count in [PARTITIONS, FOUNDING, PARTITIONS, FOUNDING] {
        publish(&mut rig, "m", &key, "");
        publish(&mut rig, "m", &key, "");
        let version = table.version() + MOVING;
        let moving = table.clone().relocating_to(Some(count));
        tell(&mut rig, moving.at_version(version));
        settle(&mut rig);
        assert_eq!(rig.engine(1).relocated_at(), Some(version));
        table = table.spread_over(&[count]).at_version(version + 1);
        tell(&mut rig, table.clone());
    }
    publish(&mut rig, "m", &key, "");
    let published = rig.events("MESSAGE").filter(|it| it.intent == "PUBLISHED");
    let published: Vec<Key> = published.map(|event| event.key).collect();
    assert!(!published.is_sorted(), "{published:?}");
    for _ in &published {
        create(&mut rig, 2, &key);
        settle(&mut rig);
    }
    let correlated = rig.events("PROCESS_MESSAGE_SUBSCRIPTION");
    let correlated = correlated.filter(|event| event.intent == "CORRELATED");
    let taken: Vec<Key> = correlated
        .map(|event| Key(event.field("messageKey").as_i64().unwrap()))
        .collect();
    assert_eq!(taken, published);
}

/// The partition believes that its slots have arrived, which their receiver does not know, as after a recovery. Returns the receiver and the
/// slots.
fn arrival_is_forgotten(rig: &mut Rig, partition: u32) -> (u32, Vec<u32>) {
    let now = rig.now;
    let engine = rig.engine(partition);
    let move_key = engine.state.slots.departing().unwrap();
    let departure = engine.state.slots.departures.get(move_key).cloned();
    let taken = RoutingCommand::Leave {
        move_key,
        up_to: None,
    };
    let taken = Sent::from(RemoteCommand::Routing(taken));
    engine.process_remote(now, &taken, &mut NoStreams);
    rig.settle(partition);
    let departure = departure.unwrap();
    (departure.to, departure.slots)
}

/// Rows of these slots never arrive.
fn lose_rows(rig: &mut Rig, are_lost: impl Fn(&[u32]) -> bool + Send + 'static) {
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Routing(RoutingCommand::Arrive(rows)) if are_lost(&rows.slots) => Fate::Lost,
        _ => Fate::Arrives,
    });
}

fn adopters(rig: &Rig) -> Vec<u32> {
    let adopted = rig.events("ROUTING").filter(|it| it.intent == "ADOPTED");
    adopted.map(|event| event.partition).collect()
}

/// Otherwise two partitions would send what is about the slot to each other for ever.
#[test]
fn a_slot_that_no_partition_has_since_a_recovery_is_adopted_by_one() {
    let mut rig = rig();
    lose_rows(&mut rig, |_| true);
    begin_moving(&mut rig);
    let (to, slots) = arrival_is_forgotten(&mut rig, 1);
    tell(&mut rig, routing().at_version(MOVING + 1));
    settle(&mut rig);
    let back = moved().relocating_to(Some(FOUNDING));
    let comes_back = |key: &String| {
        let slot = routing().slot_of(key);
        slots.contains(&slot) && back.target_of_slot(slot) == Some(1)
    };
    let keys = (0..).map(|number| format!("key-{number}"));
    let key = keys.clone().find(comes_back).unwrap();
    let correlates = |rig: &mut Rig| {
        let instance = create(rig, 2, &key);
        settle(rig);
        let request = publish(rig, "m", &key, "");
        settle(rig);
        assert!(matches!(rig.answer(request), Some(Ok(_))));
        assert_eq!(work_all(rig, "work"), 1);
        rig.assert_completed(instance);
    };
    correlates(&mut rig);
    assert_eq!(adopters(&rig), [to], "the one that may have its rows");

    // The slot goes back, and now each of them knows that the other one has it.
    let slot = routing().slot_of(&key);
    lose_rows(&mut rig, move |slots| slots.contains(&slot));
    tell(&mut rig, back.clone().at_version(MOVING + 2));
    for _ in 0..6 {
        rig.advance(10_000);
    }
    let (from, slots) = arrival_is_forgotten(&mut rig, to);
    assert!(from == 1 && slots.contains(&slot), "{from}: {slots:?}");
    let request = publish(&mut rig, "m", &key, "");
    assert_eq!(rig.aborted(), [request], "moves come first");
    tell(&mut rig, routing().at_version(MOVING + 3));
    settle(&mut rig);
    correlates(&mut rig);
    assert_eq!(adopters(&rig), [to, 1], "the one of the routing");
}

/// Events by which rows were dropped.
fn drops(rig: &Rig) -> usize {
    let dropped = rig.events("ROUTING").filter(|event| {
        let rows = event.field("dropped").as_u64();
        event.intent == "DROPPED" && rows != Some(0)
    });
    dropped.count()
}

/// A slot with more rows than a part, and more than are dropped in one turn.
#[test]
fn a_large_slot_moves_in_parts() {
    let mut rig = rig();
    let key = moving_key();
    let variables = format!(r#"{{"x":"{}"}}"#, "x".repeat(4_000));
    for _ in 0..300 {
        let message = Rig::message("m", &key, 1000 * MINUTE, &variables);
        rig.send_to(1, Command::PublishMessage(message));
    }
    move_all(&mut rig);
    let parts = rig
        .events("ROUTING")
        .filter(|event| event.intent == "ARRIVED");
    assert_eq!(parts.count(), 2);
    assert_eq!(drops(&rig), 2);
    let of = moved().of_correlation(&key);
    for partition in 1..=PARTITIONS {
        let expected = if partition == of { 300 } else { 0 };
        assert_eq!(rig.engine(partition).state.messages.len(), expected);
    }
}

/// Two drops at a time would take twice as many turns from others, and each repetition would add another one.
#[test]
fn rows_are_dropped_one_turn_after_the_other_however_long_that_takes() {
    let mut rig = rig();
    let key = moving_key();
    for _ in 0..600 {
        publish(&mut rig, "m", &key, "");
    }
    rig.fate = Box::new(|command| match command {
        RemoteCommand::Routing(RoutingCommand::Drop { .. }) => Fate::Late,
        _ => Fate::Arrives,
    });
    begin_moving(&mut rig);
    for turn in 1..=3 {
        assert_eq!(drops(&rig), turn);
        rig.advance(10_000);
    }
    assert_eq!(drops(&rig), 3);
    expect_no_move(&mut rig);
}

#[derive(Clone, Debug)]
enum Act {
    Create { key: u8, partition: u32 },
    Publish { key: u8 },
    Begin { key: u8 },
    Work,
    Move,
    Stop,
    Pass,
    NewLeader(u32),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0u8..12, 1..=PARTITIONS).prop_map(|(key, partition)| Act::Create { key, partition }),
        4 => (0u8..12).prop_map(|key| Act::Publish { key }),
        2 => (0u8..4).prop_map(|key| Act::Begin { key }),
        1 => Just(Act::Work),
        3 => Just(Act::Move),
        1 => Just(Act::Stop),
        3 => Just(Act::Pass),
        1 => (1..=PARTITIONS).prop_map(Act::NewLeader),
    ];
    proptest::collection::vec(act, 1..30)
}

#[derive(Default)]
struct Model {
    version: u64,
    created: BTreeMap<u8, usize>,
    published: Vec<(u8, u64)>,
    begun: Vec<u64>,
}

impl Model {
    fn perform(&mut self, rig: &mut Rig, act: &Act) {
        match act {
            Act::Create { key, partition } => {
                create(rig, *partition, &format!("k{key}"));
                *self.created.entry(*key).or_default() += 1;
            }
            Act::Publish { key } => {
                let request = publish(rig, "m", &format!("k{key}"), "");
                self.published.push((*key, request));
            }
            Act::Begin { key } => self.begun.push(publish(rig, "b", &format!("k{key}"), "")),
            Act::Work => {
                for job in rig.jobs("begun") {
                    rig.complete(&job, "{}");
                }
            }
            Act::Move => self.tell(rig, Some(PARTITIONS)),
            Act::Stop => self.tell(rig, None),
            Act::Pass => rig.advance(10_000),
            Act::NewLeader(partition) => {
                rig.change_leader(*partition);
            }
        }
    }

    fn tell(&mut self, rig: &mut Rig, target: Option<u32>) {
        self.version += 1;
        let routing = routing().relocating_to(target);
        tell(rig, routing.at_version(self.version));
    }

    /// Every message went to one instance of each process if there were as many, and was started by each message one after the other.
    fn check(&self, rig: &mut Rig) {
        let taken = taken(rig);
        assert!(taken.values().all(|times| *times == 1), "{taken:?}");
        let mut messages: BTreeMap<u8, usize> = BTreeMap::new();
        for (key, request) in &self.published {
            let answer = rig.look_at_answer(*request);
            assert!(matches!(answer, Some(Ok(_))), "{answer:?}");
            *messages.entry(*key).or_default() += 1;
        }
        let all = messages.iter().map(|(key, count)| {
            let created = self.created.get(key).copied().unwrap_or_default();
            created.min(*count)
        });
        assert_eq!(taken.len(), all.sum::<usize>(), "messages of {messages:?}");
        let starts = rig.events("MESSAGE_START_EVENT_SUBSCRIPTION");
        let started = starts.filter(|event| event.intent == "CORRELATED");
        let started: Vec<i64> = started
            .map(|event| event.field("messageKey").as_i64().unwrap())
            .collect();
        let different: HashSet<&i64> = started.iter().collect();
        assert_eq!(
            different.len(),
            started.len(),
            "a message starts one instance"
        );
        assert_eq!(started.len(), self.begun.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_lost_or_comes_late_or_twice_each_message_is_taken_once(
        acts in acts(),
        fates in proptest::collection::vec(0u8..6, 1..40),
    ) {
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
        }
        model.tell(&mut rig, Some(PARTITIONS));
        settle(&mut rig);
        prop_assert_eq!(rig.engine(1).relocated_at(), Some(model.version));
        tell(&mut rig, moved().at_version(model.version + 1));
        // One instance per key and message, one after the other.
        while work_all(&mut rig, "begun") > 0 {}
        model.check(&mut rig);
        expect_no_move(&mut rig);
        for partition in 1..=PARTITIONS {
            let state = &rig.engine(partition).state;
            prop_assert_eq!(state.message_starts.started.len(), 0);
            prop_assert_eq!(state.slots.started.len(), 0);
        }
    }
}
