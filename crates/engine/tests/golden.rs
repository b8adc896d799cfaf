//! Version N+1 reads everything that version N wrote: a log yields the same state as ever, a stored state opens, and partitions of
//! different versions understand each other's commands.
//!
//! The files in `golden/` are never edited. `SKEP_GOLDEN=write` writes only files that do not exist yet.
#![allow(clippy::disallowed_methods)] // Golden files are read and written.

use std::sync::{Arc, Mutex};

use skep_engine::remote::{
    BroadcastedSignal, CorrelateSubscription, Definition, Distributed, EndedStart, GlobalLocation,
    MovedRows, RemoteCommand, RoutingCommand, ScalingCommand,
};
use skep_engine::state::BatchPart;
use skep_engine::state::messages::Message;
use skep_engine::state::subscriptions::StartedByMessage;
use skep_engine::state::table::EmptyStore;
use skep_engine::state::{
    Arrival, Departure, Holder, Row, StartedElsewhere, State, read_row, write_row,
};
use skep_engine::{Engine, Sent};
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    AddBatchItems, BatchCommand, BroadcastSignal, Command, CreateBatchOperation, ExportingChange,
    MigrateProcessInstance,
};
use skep_protocol::element_type::ElementType;
use skep_protocol::intent::{BatchOperationIntent, Intent};
use skep_protocol::origin::{Claims, Origin, Principal};
use skep_protocol::record::{decode, encode};
use skep_protocol::value::{
    BatchOperationCreationValue, BatchOperationError, BatchOperationErrorType, BatchOperationItem,
    BatchOperationType, BatchPlan, BatchProgress, GlobalListenerEvent, GlobalListenerValue,
    ListenerEvent, MappingInstruction, MessageSubscriptionValue, MovedRow, PinnedElement,
    ProcessValue, RowLocation,
};
use skep_protocol::{Document, Key, TenantId};
use skep_testkit::golden_file::{self, hex, path, unhex};
use skep_testkit::rig::*;

/// The lines of a golden file, each as bytes per column.
fn golden(name: &str, current: impl FnOnce() -> Vec<Vec<Vec<u8>>>) -> Vec<Vec<Vec<u8>>> {
    if !path(name).exists() && golden_file::is_to_be_written() {
        let line = |columns: Vec<Vec<u8>>| {
            let columns: Vec<String> = columns.iter().map(|c| hex(c)).collect();
            columns.join(" ") + "\n"
        };
        let text: String = current().into_iter().map(line).collect();
        // Tests run in parallel: none may find a half-written file.
        let written = path(&format!("{name}.{:?}", std::thread::current().id()));
        std::fs::write(&written, text).unwrap();
        std::fs::rename(written, path(name)).unwrap();
    }
    let text = std::fs::read_to_string(path(name)).expect("the golden file is there");
    text.lines()
        .map(|line| line.split(' ').map(unhex).collect())
        .collect()
}

/// A partition with rows in every table.
fn scenario() -> Rig {
    let mut rig = Rig::with_partitions(2);
    rig.record_batches();
    deploy(&mut rig);
    rig.publish("order", "b", 0, r#"{"o":1}"#);
    for number in 0..11 {
        let bpmn = Bpmn::process(format!("signalled{number}"));
        rig.deploy(bpmn.start_signal("s", "go").end("e"));
    }
    let mut creation = Rig::creation("all", r#"{"a":1.50,"key":"k"}"#);
    creation.tags = vec!["tag".into()];
    creation.business_id = Some("B".into());
    rig.send(creation.into_command()).unwrap();
    let other = rig.create("all", r#"{"key":"ab"}"#);
    rig.create("all", r#"{"key":"l"}"#);
    for key in ["x1", "x2", "x3"] {
        rig.publish("buffered", key, 600_000, r#"{"m":[1]}"#);
    }
    rig.publish("m", "ab", 0, "{}");
    let jobs = rig.jobs("work");
    rig.fail(&jobs[0], 1, 90_000);
    rig.fail(&jobs[1], 0, 0);
    rig.complete(&jobs[2], r#"{"done":true}"#);
    rig.advance(MINUTE);
    rig.cancel(other).unwrap();
    rig.create("all", r#"{"key":"ef"}"#);
    rig.jobs("work");
    // One task waits for its user, the other for a listener of a variable update.
    rig.create("asked", "{}");
    rig.create("asked", "{}");
    rig.send_async(Command::SetVariables {
        element_instance_key: rig.element_key("ask"),
        variables: Document::parse(r#"{"v":[1]}"#).unwrap(),
        local: true,
    });
    let banned = rig.create("all", r#"{"key":"banned"}"#);
    rig.ban(banned).unwrap();
    rig.create("all", r#"{"key":"thrown"}"#);
    let thrown = rig.jobs("work").remove(0);
    rig.fate = Box::new(|_| Fate::Lost);
    rig.create("all", r#"{"key":"lost"}"#);
    // This one leaves deferred work: a continuation, with the trigger of a boundary event.
    rig.interrupted = true;
    rig.turn_steps(0);
    rig.throw(&thrown, "E", r#"{"e":1}"#);
    // A migration is deferred as well.
    let definitions = rig.events("PROCESS");
    let asked = definitions.filter(|seen| seen.text("bpmnProcessId") == "asked");
    let target = asked.map(|seen| seen.key).next().unwrap();
    rig.send_async(Command::MigrateProcessInstance(MigrateProcessInstance {
        process_instance_key: rig.instance_of("asked"),
        target_process_definition_key: target,
        mapping_instructions: vec![MappingInstruction {
            source_element_id: "ask".into(),
            target_element_id: "ask".into(),
        }],
    }));
    // This signal has not reached all partitions.
    rig.send_async(Command::BroadcastSignal(BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::parse(r#"{"s":1}"#).unwrap(),
    }));
    batch(&mut rig, other);
    disable_exporter(&mut rig);
    rig.send_async(Command::PinClock {
        timestamp: START + 5 * MINUTE,
    });
    rig
}

fn disable_exporter(rig: &mut Rig) {
    rig.send_async(Command::ChangeExporting {
        partition: 1,
        change: ExportingChange::Disable {
            id: "search".into(),
        },
    });
}

/// A batch operation with a pending item.
fn batch(rig: &mut Rig, other: Key) {
    let filter = CreateBatchOperation {
        kind: BatchOperationType::CancelProcessInstance,
        filter: "{}".into(),
        plan: BatchPlan::None,
        follow_up: None,
    };
    rig.send_async(Command::Batch(BatchCommand::Create(Box::new(filter))));
    let batch_operation_key = rig.events("BATCH_OPERATION_CREATION").next().unwrap().key;
    rig.send_async(Command::Batch(BatchCommand::Add(AddBatchItems {
        batch_operation_key,
        resources: Vec::new(),
        items: vec![BatchOperationItem {
            item_key: other,
            process_instance_key: other,
            root_process_instance_key: other,
        }],
        after: Key::NONE,
        last: true,
    })));
}

/// A definition of every kind.
fn deploy(rig: &mut Rig) {
    let bpmn = Bpmn::process("all")
        .start("s")
        .parallel("fork")
        .service_task("task", "work")
        .header("h", "v")
        .input("=a", "local")
        .parallel("join")
        .end("e")
        .from("fork")
        .catch_message("catch", "m", "=key")
        .to("join")
        .from("fork")
        .service_task("bad", "=missing")
        .end("e2")
        .from("fork")
        .task("quick")
        .to("join")
        .boundary_cycle("tick", "task", "R3/PT1M")
        .end("e3")
        .boundary_error("error", "task", "E")
        .end("e4");
    rig.deploy(bpmn);
    rig.deploy_files(vec![
        ("fees.dmn", decision("fees", "fee", "1 + x")),
        ("f.form", r#"{"id":"form"}"#.to_string()),
        ("r.rpa", r#"{"id":"robot"}"#.to_string()),
    ])
    .unwrap();
    let started = Bpmn::process("started")
        .start_message("by-message", "order")
        .service_task("later", "later")
        .end("e")
        .start_cycle("by-timer", "R/PT1H")
        .to("later");
    rig.deploy(started);
    rig.deploy(asked());
    rig.send(Command::CreateGlobalListener(global_listener()))
        .unwrap();
}

fn asked() -> Bpmn {
    Bpmn::process("asked")
        .start("s")
        .user_task("ask")
        .extension(r#"<zeebe:assignmentDefinition assignee="anna" candidateGroups="a,b"/>"#)
        .extension(r#"<zeebe:taskSchedule dueDate="2031-05-06T07:08:09Z"/>"#)
        .extension(
            r#"<zeebe:taskListeners><zeebe:taskListener eventType="updating" type="l"/></zeebe:taskListeners>"#,
        )
        .end("e")
}

fn batches() -> Vec<Vec<Vec<u8>>> {
    let rig = scenario();
    let of_first = rig
        .batches
        .into_iter()
        .filter(|(partition, _)| *partition == 1);
    of_first.map(|(_, batch)| vec![batch]).collect()
}

fn rows() -> Vec<Vec<Vec<u8>>> {
    let rig = scenario();
    let dump = rig.partitions[0].engine.state.dump();
    dump.into_iter()
        .map(|((table, key), row)| vec![vec![table], key, row])
        .collect()
}

fn golden_rows() -> store_rows::Rows {
    golden("state.txt", rows)
        .into_iter()
        .map(|mut line| {
            let row = line.pop().unwrap();
            let key = line.pop().unwrap();
            ((line[0][0], key), row)
        })
        .collect()
}

mod store_rows {
    pub type Rows = std::collections::BTreeMap<(u8, Vec<u8>), Vec<u8>>;
}

#[test]
fn an_old_log_applies_to_the_same_state() {
    let rows = golden_rows();
    let state = State::open(1, Arc::new(EmptyStore)).unwrap();
    let mut engine = Engine::new(config(1, 2), state, 1);
    for batch in golden("log.txt", batches) {
        engine.apply(&batch[0]).unwrap();
    }
    assert!(
        engine.state.dump() == rows,
        "the appliers no longer do what they did"
    );
    let tables: std::collections::BTreeSet<u8> = rows.keys().map(|(table, _)| *table).collect();
    assert_eq!(
        Vec::from_iter(tables),
        [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 25, 26, 27, 28, 35, 36, 40, 41, 42, 43,
            44, 46, 47, 55, 65
        ],
        "every table has a row"
    );
}

#[test]
fn an_old_state_opens() {
    let rows = golden_rows();
    let store = MemoryStore(Arc::new(Mutex::new(rows.clone())));
    let mut state = State::open(1, Arc::new(store)).unwrap();
    assert!(state.dump() == rows);
    assert!(state.jobs.next_back_off().is_some() && state.timers.next_due().is_some());
    // Every row can be read and is written back unchanged.
    let keys: Vec<Key> = rows
        .keys()
        .filter(|(table, _)| *table == 2)
        .map(|(_, key)| Key(i64::from_be_bytes(key.as_slice().try_into().unwrap())))
        .collect();
    for key in keys {
        assert!(state.elements.get(key).is_some());
    }
    assert!(state.dump() == rows);
    assert_eq!(state.fault(), None);
}

fn global_listener() -> GlobalListenerValue {
    GlobalListenerValue {
        id: "global".into(),
        job_type: "g".into(),
        retries: 4,
        events: vec![GlobalListenerEvent::One(ListenerEvent::Updating)],
        after_non_global: true,
        priority: 60,
    }
}

fn batch_operation() -> BatchOperationCreationValue {
    BatchOperationCreationValue {
        kind: BatchOperationType::ModifyProcessInstance,
        entity_filter: "{}".into(),
        plan: BatchPlan::Modify {
            moves: vec![("a".into(), "b".into())],
        },
        partition_ids: vec![1, 2, 3],
        claims: Claims::Anonymous,
        follow_up: None,
    }
}

fn batch_error() -> BatchOperationError {
    BatchOperationError {
        partition_id: 3,
        kind: BatchOperationErrorType::QueryFailed,
        message: "away".into(),
    }
}

fn remote_commands() -> Vec<RemoteCommand> {
    let key = |counter| Key::new(2, counter);
    let variables = vec![("a".into(), "1.50".into())];
    let distribute = |command| RemoteCommand::Distribute {
        distribution_key: key(1),
        origin: 1,
        command,
    };
    vec![
        RemoteCommand::OpenMessageSubscription(MessageSubscriptionValue {
            process_instance_key: key(1),
            element_instance_key: key(2),
            process_definition_key: key(3),
            bpmn_process_id: "p".into(),
            message_name: "m".into(),
            correlation_key: "k".into(),
            interrupting: true,
            message_key: Key::NONE,
            variables: vec![],
            tenant: TenantId::new("acme"),
            revision: 1,
        }),
        RemoteCommand::MessageSubscriptionOpened {
            element_instance_key: key(1),
            message_name: "m".into(),
            revision: 1,
        },
        RemoteCommand::CorrelateSubscription(CorrelateSubscription {
            message_partition: 2,
            process_instance_key: key(1),
            element_instance_key: key(2),
            message_name: "m".into(),
            message_key: key(3),
            variables,
        }),
        RemoteCommand::MessageCorrelated {
            element_instance_key: key(1),
            message_name: "m".into(),
            message_key: key(2),
            closes: true,
        },
        RemoteCommand::RejectCorrelation {
            element_instance_key: key(1),
            process_instance_key: key(2),
            message_name: "m".into(),
            message_key: key(3),
        },
        RemoteCommand::CloseMessageSubscription {
            element_instance_key: key(1),
            message_name: "m".into(),
            reply_to: 3,
        },
        RemoteCommand::MessageSubscriptionClosed {
            element_instance_key: key(1),
            message_name: "m".into(),
        },
        distribute(Distributed::Deployment {
            deployment_key: key(1),
            definitions: vec![Definition::Process(ProcessValue {
                bpmn_process_id: "p".into(),
                version: 2,
                version_tag: Some("t".into()),
                process_definition_key: key(2),
                deployment_key: key(1),
                resource_name: "p.bpmn".into(),
                checksum: vec![1, 2].into(),
                resource: "<xml/>".into(),
                elements: [("p", ElementType::Process), ("s", ElementType::StartEvent)]
                    .map(|(id, element_type)| PinnedElement {
                        id: id.into(),
                        element_type,
                    })
                    .to_vec(),
                tenant: TenantId::new("acme"),
            })],
        }),
        distribute(Distributed::ResourceDeletion {
            resource_key: key(1),
            delete_history: true,
            batch_operation: Some((key(2), BatchOperationType::DeleteProcessInstance)),
        }),
        distribute(Distributed::PinClock { time: START }),
        distribute(Distributed::ResetClock),
        distribute(Distributed::SetGlobalListener {
            key: key(1),
            listener: global_listener(),
        }),
        distribute(Distributed::DeleteGlobalListener {
            key: key(1),
            listener: global_listener(),
        }),
        distribute(Distributed::Signal {
            name: "go".into(),
            variables: vec![("s".into(), "1".into())],
        }),
        distribute(Distributed::BatchOperation {
            key: key(1),
            value: Box::new(batch_operation()),
        }),
        distribute(Distributed::ManageBatchOperation {
            key: key(1),
            event: BatchOperationIntent::Completed.id(),
            errors: vec![batch_error()],
        }),
        RemoteCommand::BatchPart {
            batch_operation_key: key(1),
            partition: 3,
            part: BatchPart {
                progress: BatchProgress {
                    total: 500,
                    completed: 2,
                    failed: 1,
                },
                ended: true,
                error: Some(batch_error()),
            },
        },
        RemoteCommand::AcknowledgeDistribution {
            distribution_key: key(1),
            partition: 3,
        },
    ]
}

fn origin() -> Origin {
    let anna = Principal {
        id: "anna".into(),
        ..Principal::default()
    };
    Origin {
        operation_reference: Some(7),
        batch_operation_reference: Key::new(1, 9),
        claims: Claims::User(anna.into()),
    }
}

#[test]
fn the_encoding_of_commands_between_partitions_is_unchanged() {
    let plain = remote_commands().into_iter().map(Sent::from);
    let said = remote_commands()
        .into_iter()
        .take(1)
        .map(|command| Sent::new(&origin(), command));
    let commands: Vec<Sent> = plain.chain(said).collect();
    let lines = golden("remote.txt", || {
        commands.iter().map(|c| vec![encode(c)]).collect()
    });
    assert_eq!(lines.len(), commands.len());
    for (line, command) in lines.iter().zip(&commands) {
        assert_eq!(decode::<Sent>(&line[0]).as_ref(), Ok(command));
        assert_eq!(hex(&encode(command)), hex(&line[0]), "{command:?}");
    }
}

#[test]
fn the_encoding_of_signals_of_other_tenants_is_unchanged() {
    let signal = |of_client| {
        let signal = BroadcastedSignal {
            tenant: TenantId::new("acme"),
            name: "go".into(),
            variables: vec![("s".into(), "1".into())],
        };
        let command = Distributed::TenantSignal { signal, of_client };
        Sent::new(
            &origin(),
            RemoteCommand::Distribute {
                distribution_key: Key::new(1, 5),
                origin: 1,
                command,
            },
        )
    };
    let commands = [signal(false), signal(true)];
    let lines = golden("remote-signals.txt", || {
        commands.iter().map(|c| vec![encode(c)]).collect()
    });
    for (line, command) in lines.iter().zip(&commands) {
        assert_eq!(decode::<Sent>(&line[0]).as_ref(), Ok(command));
        assert_eq!(hex(&encode(command)), hex(&line[0]), "{command:?}");
    }
}

#[test]
fn the_encoding_of_scaling_commands_is_unchanged() {
    let after = GlobalLocation {
        kind: 4,
        key: Key::new(1, 7),
    };
    let distributed = |command| RemoteCommand::Distribute {
        distribution_key: Key::new(1, 5),
        origin: 1,
        command,
    };
    let commands = [
        distributed(Distributed::ScaledUp { partitions: 6 }),
        RemoteCommand::Scaling(ScalingCommand::PullGlobalState {
            partition: 4,
            after,
        }),
        RemoteCommand::Scaling(ScalingCommand::GlobalState {
            after,
            items: vec![Distributed::PinClock { time: START }],
            next: Some(GlobalLocation {
                kind: 5,
                key: Key::new(1, 8),
            }),
            partitions: 6,
        }),
        RemoteCommand::Scaling(ScalingCommand::MarkPartitionBootstrapped { partition: 4 }),
    ]
    .map(Sent::from);
    let lines = golden("remote-scaling.txt", || {
        commands.iter().map(|c| vec![encode(c)]).collect()
    });
    for (line, command) in lines.iter().zip(&commands) {
        assert_eq!(decode::<Sent>(&line[0]).as_ref(), Ok(command));
        assert_eq!(hex(&encode(command)), hex(&line[0]), "{command:?}");
    }
}

#[test]
fn the_encoding_of_commands_about_slots_is_unchanged() {
    let up_to = RowLocation {
        kind: RowLocation::MESSAGE,
        key: Key::new(1, 7),
    };
    let move_key = Key::new(1, 9);
    let routing = RemoteCommand::Routing;
    let commands = [
        RemoteCommand::CloseMessageSubscriptionByKey {
            element_instance_key: Key::new(2, 3),
            message_name: "paid".into(),
            correlation_key: "4711".into(),
            reply_to: 2,
        },
        RemoteCommand::SentOn {
            hops: 3,
            command: Box::new(routing(RoutingCommand::Report {
                partition: 2,
                version: 12,
            })),
        },
        routing(RoutingCommand::Arrive(MovedRows {
            move_key,
            from: 1,
            slots: vec![5, 700],
            after: up_to,
            rows: vec![MovedRow::Start {
                process_instance_key: Key::new(1, 8),
                bpmn_process_id: "order".into(),
                correlation_key: "4711".into(),
                tenant: TenantId::default(),
            }],
            is_last: true,
        })),
        routing(RoutingCommand::Leave {
            move_key,
            up_to: Some(up_to),
        }),
        routing(RoutingCommand::Leave {
            move_key,
            up_to: None,
        }),
        routing(RoutingCommand::Drop { move_key }),
        routing(RoutingCommand::Report {
            partition: 2,
            version: 12,
        }),
        routing(RoutingCommand::EndStart(EndedStart {
            process_instance_key: Key::new(1, 8),
            correlation_key: "4711".into(),
            reply_to: 1,
        })),
        routing(RoutingCommand::SettleStart {
            process_instance_key: Key::new(1, 8),
        }),
    ]
    .map(Sent::from);
    let lines = golden("remote-routing.txt", || {
        commands.iter().map(|c| vec![encode(c)]).collect()
    });
    for (line, command) in lines.iter().zip(&commands) {
        assert_eq!(decode::<Sent>(&line[0]).as_ref(), Ok(command));
        assert_eq!(hex(&encode(command)), hex(&line[0]), "{command:?}");
    }
}

#[test]
fn the_encoding_of_rows_about_slots_is_unchanged() {
    let (move_key, key) = (Key::new(1, 9), Key::new(1, 7));
    let holders = [Holder::Here, Holder::Leaving, Holder::Gone { to: 4 }];
    let departure = Departure {
        to: 4,
        slots: vec![5, 700],
        is_gone: true,
    };
    let arrival = Arrival {
        move_key,
        up_to: RowLocation {
            kind: RowLocation::MESSAGE,
            key,
        },
        is_taken: true,
    };
    let started = StartedElsewhere {
        started: StartedByMessage {
            tenant: TenantId::default(),
            bpmn_process_id: "order".into(),
            correlation_key: "4711".into(),
        },
        is_over: true,
    };
    // One that has not moved is written as before.
    let message = Message {
        name: "paid".into(),
        correlation_key: "4711".into(),
        message_id: "id".into(),
        time_to_live: 60_000,
        deadline: 1_767_225_600_000,
        variables: Vec::new(),
        tenant: TenantId::default(),
        correlated: vec!["order".into()],
        moves: 2,
    };
    let mut current: Vec<Vec<u8>> = holders.iter().map(write_row).collect();
    current.extend([
        write_row(&departure),
        write_row(&arrival),
        write_row(&started),
        write_row(&message),
    ]);
    let lines = golden("slots.txt", || {
        current.iter().map(|row| vec![row.clone()]).collect()
    });
    let lines: Vec<Vec<u8>> = lines.into_iter().flatten().collect();
    assert_eq!(lines, current);
    fn expect<V: Row + PartialEq + std::fmt::Debug>(line: &[u8], row: &V) {
        assert_eq!(read_row::<V>(line).as_ref(), Ok(row));
    }
    for (line, holder) in lines.iter().zip(&holders) {
        expect(line, holder);
    }
    expect(&lines[3], &departure);
    expect(&lines[4], &arrival);
    expect(&lines[5], &started);
    expect(&lines[6], &message);
}
