//! Entities whose definition is missing. No sequence of commands is known that leads there; if one does, nobody may act on them for
//! whom the definition might have been a foreign one.

use skep_engine::RemoteCommand;
use skep_model::builder::Bpmn;
use skep_protocol::batch::{BatchReader, BatchWriter};
use skep_protocol::command::Command;
use skep_protocol::intent::ProcessIntent;
use skep_protocol::origin::Claims;
use skep_protocol::permission::PermissionType;
use skep_protocol::record::RecordType;
use skep_protocol::value::ProcessValue;
use skep_protocol::{Key, RejectionType, TenantId};

use super::authorization::{
    asking, assign, created, deploy, forbidden, is, last, on_process, task,
};
use super::tenant_checks::{Made, checking, commands, inside, refused};
use skep_testkit::rig::*;

/// Deletes all definitions of processes under their instances. No command does so.
fn lose_definitions(rig: &mut Rig) {
    let lost: Vec<Key> = rig
        .events("PROCESS")
        .filter(|record| record.intent == "CREATED")
        .map(|record| record.key)
        .collect();
    assert!(!lost.is_empty(), "there are definitions to lose");
    let partition = &mut rig.partitions[0];
    let mut batch = BatchWriter::new(partition.engine.next_position());
    batch.begin(START);
    for process_definition_key in lost {
        let value = ProcessValue {
            bpmn_process_id: "".into(),
            version: 1,
            version_tag: None,
            process_definition_key,
            deployment_key: process_definition_key,
            resource_name: "".into(),
            checksum: Default::default(),
            resource: Default::default(),
            elements: Vec::new(),
            tenant: Default::default(),
        };
        batch.event(process_definition_key, ProcessIntent::Deleted, &value);
    }
    let batch = batch.take().unwrap();
    partition.engine.apply(&batch).unwrap();
    partition.twin.apply(&batch).unwrap();
}

#[test]
fn an_instance_is_closed_to_those_with_grants_on_single_processes() {
    let mut rig = asking(1);
    deploy(&mut rig, task());
    let process_instance_key = created(&mut rig, Claims::Internal, "order");
    let of_task = assign(last(&rig, "USER_TASK"), "anna", true);
    lose_definitions(&mut rig);
    let rights = [
        PermissionType::CancelProcessInstance,
        PermissionType::ClaimUserTask,
    ];
    on_process(&mut rig, "anna", "order", &rights);
    let cancel = Command::CancelProcessInstance {
        process_instance_key,
    };
    for command in [cancel, of_task] {
        forbidden(&mut rig, is("anna"), command);
    }
}

#[test]
fn an_entity_belongs_to_no_tenant() {
    let mut rig = checking(1);
    let is_resource = |command: &Command| matches!(command, Command::DeleteResource { .. });
    let of_nothing = Key::new(1, 4_000_000);
    let mut all: Vec<(Key, Made, String)> = Vec::new();
    for (key, command) in commands(&mut rig) {
        if !is_resource(&command(key)) {
            let (_, text) = refused(&mut rig, "bert", "globex", command(of_nothing));
            let expected = text.replace(&of_nothing.to_string(), &key.to_string());
            all.push((key, command, expected));
        }
    }
    lose_definitions(&mut rig);
    rig.record_batches();
    // Anna is a member of the tenant that they belonged to.
    for (name, tenant) in [("anna", "acme"), ("bert", "globex")] {
        for (key, command, expected) in &all {
            let refusal = refused(&mut rig, name, tenant, command(*key));
            assert_eq!(refusal, (RejectionType::NotFound, expected.clone()));
        }
    }
    assert_eq!(rig.batches.len(), 2 * all.len());
    for (_, batch) in &rig.batches {
        let mut records = BatchReader::new(batch).unwrap().map(Result::unwrap);
        let rejection = records.find(|record| record.record_type == RecordType::CommandRejection);
        let tenant = rejection.expect("one was written").tenant_of_rejection();
        assert_eq!(tenant, TenantId::unknown());
    }
}

#[test]
fn without_checks_an_instance_is_not_found_if_another_tenant_left_definitions() {
    let mut rig = Rig::new();
    rig.claims = Claims::Internal;
    inside(&mut rig, "acme", |rig| rig.deploy(task()));
    rig.deploy(task());
    let instance = rig.create("order", "{}");
    lose_definitions(&mut rig);
    rig.claims = Claims::Anonymous;
    let refusal = rig.cancel(instance).expect_err("it is refused");
    assert_eq!(refusal.kind, RejectionType::NotFound, "{refusal:?}");
}

#[test]
fn an_element_waits_for_messages_of_no_tenant() {
    let mut rig = Rig::new();
    rig.deploy(
        Bpmn::process("waits")
            .start("s")
            .catch_message("c", "m", "=key")
            .end("e"),
    );
    rig.fate = Box::new(|command| match command {
        RemoteCommand::OpenMessageSubscription(_) => Fate::Lost,
        _ => Fate::Arrives,
    });
    rig.create("waits", r#"{"key":"k"}"#);
    lose_definitions(&mut rig);
    rig.fate = Box::new(|_| Fate::Arrives);
    // The opening is repeated.
    rig.advance(10_000);
    let opened = rig
        .events("MESSAGE_SUBSCRIPTION")
        .find(|record| record.intent == "CREATED")
        .expect("it is open");
    assert_eq!(opened.text("tenantId"), "<unknown>");
}
