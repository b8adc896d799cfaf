//! All parts of the state held in memory count against the memory limit.

use skep_engine::RemoteCommand;
use skep_model::builder::Bpmn;
use skep_protocol::Command;
use skep_protocol::command::{Deploy, Resource};

use skep_testkit::rig::*;

const LARGE: usize = 1 << 20;

fn resident(rig: &mut Rig, partition: u32) -> usize {
    rig.engine(partition).state.resident_bytes()
}

fn large() -> String {
    format!(r#"{{"a":"{}"}}"#, "x".repeat(LARGE))
}

fn catch() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .catch_message("catch", "m", "=key")
        .end("e")
}

#[test]
fn buffered_messages_count_with_their_variables() {
    let mut rig = Rig::new();
    rig.publish("m", "k", MINUTE, &large());
    assert!(resident(&mut rig, 1) > LARGE);
    rig.advance(MINUTE);
    assert!(resident(&mut rig, 1) < LARGE);
}

#[test]
fn a_message_on_its_way_to_an_instance_counts_where_it_waits() {
    let mut rig = Rig::with_partitions(2);
    rig.deploy(catch());
    // A correlation key that belongs to the other partition.
    let key = ["a", "b"]
        .into_iter()
        .find(|key| skep_protocol::Routing::new(2).of_correlation(key) == 2)
        .unwrap();
    rig.create("p", &format!(r#"{{"key":"{key}"}}"#));
    rig.fate = Box::new(|command| match command {
        RemoteCommand::CorrelateSubscription(_) => Fate::Lost,
        _ => Fate::Arrives,
    });
    rig.publish("m", key, 0, &large());
    assert!(resident(&mut rig, 2) > LARGE);
    let mut checkpoint = Pending::default();
    rig.engine(2).state.checkpoint(&mut checkpoint);
    assert!(resident(&mut rig, 2) > LARGE, "weighed anew");
}

#[test]
fn a_deployment_on_its_way_to_the_other_partitions_counts() {
    let mut rig = Rig::with_partitions(2);
    rig.fate = Box::new(|_| Fate::Lost);
    let xml = catch().xml() + &format!("<!--{}-->", "x".repeat(LARGE));
    let resources = vec![Resource {
        name: "p.bpmn".into(),
        content: xml.into(),
    }];
    rig.send_async(Command::Deploy(Deploy { resources }));
    assert!(resident(&mut rig, 1) > LARGE);
}
