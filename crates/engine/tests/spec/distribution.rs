//! Deployments and deletions reach all partitions, whatever the network does.

use std::sync::{Arc, Mutex};

use skep_engine::RemoteCommand;
use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, Deploy, Resource};
use skep_protocol::{Key, Response, TenantId};
use skep_testkit::rig::*;

fn process(job: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", job)
        .end("e")
}

fn deployment(bpmn: Bpmn) -> Command {
    Command::Deploy(Deploy {
        resources: vec![Resource {
            name: "p.bpmn".into(),
            content: bpmn.xml().into(),
        }],
    })
}

fn definition(rig: &mut Rig, partition: u32) -> Option<Key> {
    rig.engine(partition)
        .state
        .processes
        .latest(&TenantId::default(), "p")
        .map(|p| p.key)
}

#[test]
fn the_answer_comes_when_all_partitions_have_it() {
    let mut rig = Rig::with_partitions(3);
    let mut lost = 0;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Distribute { .. } if lost < 1 => {
            lost += 1;
            Fate::Lost
        }
        _ => Fate::Arrives,
    });
    let request = rig.send_async(deployment(process("a")));
    assert_eq!(rig.answer(request), None);
    rig.advance(10_000);
    assert!(matches!(
        rig.answer(request),
        Some(Ok(Response::Deployed(_)))
    ));
    let key = definition(&mut rig, 1);
    assert!(key.is_some());
    for partition in 2..=3 {
        assert_eq!(definition(&mut rig, partition), key);
        let instance = rig.create_on(partition, "p", "{}");
        assert_eq!(instance.partition(), Some(partition));
    }
    assert_eq!(rig.engine(1).state.distributions.table.len(), 0);
}

#[test]
fn commands_that_come_twice_count_once() {
    let mut rig = Rig::with_partitions(2);
    rig.fate = Box::new(|_| Fate::Twice);
    rig.send(deployment(process("a"))).unwrap();
    rig.send(deployment(process("b"))).unwrap();
    let created = rig.events("PROCESS").filter(|r| r.partition == 2).count();
    assert_eq!(created, 2);
    assert_eq!(rig.engine(1).state.distributions.table.len(), 0);
}

#[test]
fn a_lost_acknowledgement_is_asked_for_again() {
    let mut rig = Rig::with_partitions(2);
    let mut lost = false;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::AcknowledgeDistribution { .. } if !std::mem::replace(&mut lost, true) => {
            Fate::Lost
        }
        _ => Fate::Arrives,
    });
    let request = rig.send_async(deployment(process("a")));
    rig.advance(10_000);
    assert!(rig.answer(request).unwrap().is_ok());
}

#[test]
fn a_deletion_does_not_overtake_its_deployment() {
    let mut rig = Rig::with_partitions(2);
    // The deployment arrives late.
    let mut lost = false;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Distribute { .. } if !std::mem::replace(&mut lost, true) => Fate::Lost,
        _ => Fate::Arrives,
    });
    rig.send_async(deployment(process("a")));
    let key = definition(&mut rig, 1).unwrap();
    rig.send_async(Command::DeleteResource {
        resource_key: key,
        delete_history: false,
    });
    rig.advance(10_000);
    rig.advance(10_000);
    assert_eq!(definition(&mut rig, 1), None);
    assert_eq!(
        definition(&mut rig, 2),
        None,
        "deleted after it was deployed"
    );
    let there = rig.events("PROCESS").filter(|r| r.partition == 2);
    let there: Vec<_> = there.map(|r| r.intent).collect();
    assert_eq!(there, ["CREATED", "DELETING", "DELETED"]);
    assert_eq!(rig.engine(1).state.distributions.table.len(), 0);
}

#[test]
fn commands_name_what_is_distributed() {
    let mut rig = Rig::with_partitions(2);
    rig.send(deployment(process("a"))).unwrap();
    let key = definition(&mut rig, 1).unwrap();
    rig.send(Command::DeleteResource {
        resource_key: key,
        delete_history: false,
    })
    .unwrap();
    let commands: Vec<_> = rig
        .seen
        .iter()
        .filter(|r| !r.is_event() && r.partition == 2)
        .map(|r| (r.value_type, r.intent))
        .collect();
    assert_eq!(
        commands,
        [
            ("DEPLOYMENT", "DISTRIBUTE"),
            ("RESOURCE_DELETION", "DELETE")
        ]
    );
}

/// A duplicate that was delayed in the network while later commands arrived.
#[test]
fn a_late_duplicate_is_acknowledged_and_not_carried_out_again() {
    let mut rig = Rig::with_partitions(2);
    let sent = Arc::new(Mutex::new(Vec::new()));
    let taken = || std::mem::take(&mut *sent.lock().unwrap());
    let copies = sent.clone();
    rig.fate = Box::new(move |command| {
        copies.lock().unwrap().push(command.clone());
        Fate::Arrives
    });
    rig.send(Command::PinClock { timestamp: START }).unwrap();
    rig.send(deployment(process("a"))).unwrap();
    let key = definition(&mut rig, 1).unwrap();
    rig.send(Command::DeleteResource {
        resource_key: key,
        delete_history: false,
    })
    .unwrap();
    rig.send(Command::ResetClock).unwrap();
    let is_distribution = |c: &RemoteCommand| matches!(c, RemoteCommand::Distribute { .. });
    let late: Vec<_> = taken().into_iter().filter(is_distribution).collect();
    assert_eq!(late.len(), 4);
    let dump = rig.engine(2).state.dump();
    let written = rig.seen.iter().filter(|r| r.is_event()).count();
    for command in late {
        rig.network.push_back((2, command.into()));
        rig.settle(2);
        assert!(rig.engine(2).state.dump() == dump, "nothing changes");
    }
    assert_eq!(rig.engine(2).state.pinned_clock(), None);
    assert_eq!(rig.seen.iter().filter(|r| r.is_event()).count(), written);
    let acknowledged = taken();
    assert_eq!(acknowledged.len(), 4, "each is answered");
    rig.send(Command::PinClock { timestamp: START }).unwrap();
    assert_eq!(rig.engine(2).state.pinned_clock(), Some(START));
}
