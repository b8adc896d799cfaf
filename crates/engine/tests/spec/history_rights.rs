//! Rights to delete history. Ended instances are not in the state, so the engine checks them by the resource that the sender has found.

use skep_protocol::command::{
    AddBatchItems, BatchCommand, Command, CreateBatchOperation, HistoryOf,
};
use skep_protocol::origin::Claims;
use skep_protocol::permission::{PermissionType as P, ResourceType};
use skep_protocol::value::{
    BatchOperationItem, BatchOperationType, BatchPlan, HistoryDeletionType, HistoryDeletionValue,
};
use skep_protocol::{Key, RejectionType, Response, TenantId};

use super::authorization::{
    allowed, asking, deploy, forbidden, grant, is, last, on_process, process, revoke,
};
use super::tenant_checks::{checking, refused};

fn ended() -> Key {
    Key::new(1, 4_000_000)
}

/// The deletion of what belongs to these resources, and to this tenant.
fn deletion(kind: HistoryDeletionType, resources: &[&str], tenant: Option<&str>) -> Command {
    Command::Batch(BatchCommand::DeleteHistoryOf(HistoryOf {
        deletion: HistoryDeletionValue {
            resource_key: ended(),
            kind,
        },
        resources: resources.iter().map(|id| (*id).into()).collect(),
        tenant: tenant.map(TenantId::new),
    }))
}

#[test]
fn an_instance_is_deleted_by_the_right_on_its_process() {
    let mut rig = asking(1);
    let of = |resources: &[&str]| deletion(HistoryDeletionType::ProcessInstance, resources, None);
    let right = on_process(&mut rig, "anna", "order", &[P::DeleteProcessInstance]);
    on_process(&mut rig, "anna", "refund", &[P::ReadProcessInstance]);
    allowed(&mut rig, is("anna"), of(&["order"]));
    let text = forbidden(&mut rig, is("anna"), of(&["refund"]));
    assert!(text.contains("'[*, refund]'"), "{text}");
    for unknown in [&[""][..], &[]] {
        forbidden(&mut rig, is("anna"), of(unknown));
    }
    revoke(&mut rig, right);
    on_process(&mut rig, "anna", "other", &[P::DeleteProcessInstance]);
    forbidden(&mut rig, is("anna"), of(&["order"]));
    on_process(&mut rig, "anna", "*", &[P::DeleteProcessInstance]);
    for resources in [&["order"][..], &[""], &[]] {
        allowed(&mut rig, is("anna"), of(resources));
    }
}

/// One that failed before the requested decision belongs to those that it has evaluated.
#[test]
fn an_evaluation_is_deleted_by_the_rights_on_all_of_its_decisions() {
    let mut rig = asking(1);
    let of = |resources: &[&str]| deletion(HistoryDeletionType::DecisionInstance, resources, None);
    let deletes = [P::DeleteDecisionInstance];
    let on = ResourceType::DecisionDefinition;
    grant(&mut rig, "anna", on, "dish", &deletes);
    allowed(&mut rig, is("anna"), of(&["dish"]));
    for resources in [["dish", "season"], ["season", "dish"]] {
        let text = forbidden(&mut rig, is("anna"), of(&resources));
        assert!(text.contains("'[*, season]'"), "{text}");
    }
    grant(&mut rig, "anna", on, "season", &deletes);
    allowed(&mut rig, is("anna"), of(&["dish", "season"]));
}

#[test]
fn no_client_deletes_the_history_of_a_definition_without_the_definition() {
    let mut rig = asking(1);
    for on in [
        ResourceType::ProcessDefinition,
        ResourceType::DecisionDefinition,
    ] {
        let deletes = match on {
            ResourceType::ProcessDefinition => P::DeleteProcessInstance,
            _ => P::DeleteDecisionInstance,
        };
        grant(&mut rig, "anna", on, "*", &[deletes]);
    }
    for kind in [
        HistoryDeletionType::ProcessDefinition,
        HistoryDeletionType::DecisionRequirements,
    ] {
        forbidden(&mut rig, is("anna"), deletion(kind, &["order"], None));
    }
}

#[test]
fn the_history_of_another_tenant_does_not_exist() {
    let mut rig = checking(1);
    let kinds = [
        HistoryDeletionType::ProcessInstance,
        HistoryDeletionType::DecisionInstance,
    ];
    for (before, kind) in kinds.into_iter().enumerate() {
        let delete = deletion(kind, &["order"], Some("acme"));
        let (refusal, text) = refused(&mut rig, "bert", "", delete.clone());
        assert_eq!(refusal, RejectionType::NotFound, "{text}");
        assert!(!text.contains("acme"), "{text}");
        assert_eq!(rig.events("HISTORY_DELETION").count(), before);
        allowed(&mut rig, is("anna"), delete);
        assert_eq!(rig.events("HISTORY_DELETION").count(), before + 1);
    }
}

fn items(number: i64) -> Vec<BatchOperationItem> {
    let item = |key| BatchOperationItem {
        item_key: key,
        process_instance_key: key,
        root_process_instance_key: key,
    };
    (0..number)
        .map(|place| item(Key(ended().0 + place)))
        .collect()
}

fn add(batch_operation_key: Key, resources: &[&str], number: i64) -> Command {
    Command::Batch(BatchCommand::Add(AddBatchItems {
        batch_operation_key,
        items: items(number),
        resources: resources.iter().map(|id| (*id).into()).collect(),
        after: Key::NONE,
        last: true,
    }))
}

#[test]
fn a_batch_operation_whose_items_do_not_each_have_a_resource_fails_and_deletes_nothing() {
    let mut rig = asking(1);
    let creates = [P::CreateBatchDeleteProcessInstance];
    grant(&mut rig, "anna", ResourceType::Batch, "*", &creates);
    on_process(&mut rig, "anna", "*", &[P::DeleteProcessInstance]);
    for resources in [&[][..], &["order"], &["order", "order", "order"]] {
        let create = CreateBatchOperation {
            kind: BatchOperationType::DeleteProcessInstance,
            filter: "{}".into(),
            plan: BatchPlan::None,
            follow_up: None,
        };
        let create = Command::Batch(BatchCommand::Create(Box::new(create)));
        let Response::BatchOperationCreated { key, .. } = allowed(&mut rig, is("anna"), create)
        else {
            panic!("a batch operation is created");
        };
        allowed(&mut rig, Claims::Internal, add(key, resources, 2));
        while rig.run_work() {}
        let chosen = rig.events("BATCH_OPERATION_INITIALIZATION").last();
        assert_eq!(chosen.map(|record| record.intent), Some("FAILED"));
        assert_eq!(rig.events("HISTORY_DELETION").count(), 0);
        assert!(rig.engine(1).state.batch_operations.get(key).is_none());
    }
}

/// The definition is gone with the answer, and its instances are deleted in turns that come later.
#[test]
fn a_definition_takes_no_history_that_its_caller_may_delete_no_more() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    let definition = last(&rig, "PROCESS");
    let deletes = [P::DeleteProcess];
    grant(&mut rig, "anna", ResourceType::Resource, "order", &deletes);
    let right = on_process(&mut rig, "anna", "order", &[P::DeleteProcessInstance]);
    on_process(&mut rig, "anna", "refund", &[P::DeleteProcessInstance]);
    rig.claims = is("anna");
    let key = rig
        .delete_with_history(definition)
        .expect("a batch operation");
    rig.interrupted = true;
    let add = add(key, &["order", "order"], 2);
    allowed(&mut rig, Claims::Internal, add);
    revoke(&mut rig, right);
    rig.interrupted = false;
    while rig.run_work() {}
    let deleted = rig.events("HISTORY_DELETION");
    let deleted: Vec<&str> = deleted.map(|record| record.text("resourceType")).collect();
    assert_eq!(deleted, ["PROCESS_DEFINITION"]);
    let failed = rig.events("BATCH_OPERATION_ITEM");
    let failed: Vec<&str> = failed.map(|record| record.text("errorMessage")).collect();
    assert_eq!(failed.len(), 2);
    assert!(failed[0].contains("'[*, order]'"), "{}", failed[0]);
}
