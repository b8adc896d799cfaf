//! Rows of a tenant are found by its members, in all kinds of stores.

use std::time::Duration;

use skep_identity::Tenancy;
use skep_model::builder::Bpmn;
use skep_protocol::command::{AddBatchItems, BatchCommand, Command, CreateBatchOperation};
use skep_protocol::origin::Claims;
use skep_protocol::value::{
    BatchOperationItem, BatchOperationType, BatchPlan, ClusterVariableValue,
};
use skep_protocol::{Key, Response, TenantId};
use skep_query::access::{self, Narrowed, Sight};
use skep_query::entities::{
    BATCH_OPERATION, BATCH_OPERATION_ITEM, CLUSTER_VARIABLE, ELEMENT_INSTANCE, EVENT_WAIT, JOB,
    PROCESS_DEFINITION, PROCESS_INSTANCE, USER_TASK, VARIABLE,
};
use skep_query::{Answer, Entity, Query, Row, Search};
use skep_secondary::Config;

use skep_testkit::rig::Rig;
use skep_testkit::stores::{Filled, follow};

/// A process with an element for each kind of row.
fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("work", "work")
        .end("e1")
        .from("fork")
        .catch_signal("wait", "go")
        .end("e2")
        .from("fork")
        .user_task("ask")
        .end("e3")
}

fn variable(rig: &mut Rig, tenant: Option<&str>) {
    let value = ClusterVariableValue {
        name: "limit".into(),
        value: "1".into(),
        tenant: tenant.map(TenantId::new),
    };
    rig.send(Command::CreateClusterVariable(value)).unwrap();
}

/// Cancels an instance by a batch operation with this single item.
fn cancel(rig: &mut Rig, process_instance_key: Key) {
    let create = CreateBatchOperation {
        kind: BatchOperationType::CancelProcessInstance,
        filter: "{}".into(),
        plan: BatchPlan::None,
        follow_up: None,
    };
    let created = rig.send(Command::Batch(BatchCommand::Create(Box::new(create))));
    let Ok(Response::BatchOperationCreated { key, .. }) = created else {
        panic!("{created:?}");
    };
    let item = BatchOperationItem {
        item_key: process_instance_key,
        process_instance_key,
        root_process_instance_key: process_instance_key,
    };
    let add = AddBatchItems {
        batch_operation_key: key,
        resources: Vec::new(),
        items: vec![item],
        after: Key::NONE,
        last: true,
    };
    rig.send(Command::Batch(BatchCommand::Add(add))).unwrap();
}

/// A store of a cluster that checks tenants, or does not.
fn store(tenants: bool) -> Filled {
    let config = Config {
        tenants,
        // The clock of a rig begins long ago.
        history_ttl: Duration::from_secs(100 * 365 * 24 * 3600),
        ..Config::default()
    };
    Filled::with(super::BACKEND, 1, config)
}

fn found(store: &Filled, entity: &'static Entity, tenants: &[&str]) -> Vec<Row> {
    let sight = Sight {
        grants: None,
        tenancy: Tenancy::Of(tenants.iter().map(|id| TenantId::new(id)).collect()),
    };
    let mut search = Search::all(entity, Vec::new(), 100);
    search.details = true;
    match access::narrow(&mut search, &sight) {
        Ok(Narrowed::Nothing) => return Vec::new(),
        narrowed => assert!(narrowed.is_ok(), "{narrowed:?}"),
    }
    match store.ask(Query::Search(search)) {
        Answer::Page(found) => {
            assert_eq!(found.total, found.rows.len() as u64, "{}", entity.title);
            found.rows
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn members_find_entities_of_their_tenant_and_of_no_tenant() {
    let (mut rig, store) = (Rig::new(), store(true));
    rig.record_batches();
    rig.claims = Claims::Internal;
    variable(&mut rig, None);
    for tenant in ["acme", "globex"] {
        rig.tenant = TenantId::new(tenant);
        rig.deploy(process());
        let instance = rig.create("p", r#"{"a": 1}"#);
        rig.create("p", r#"{"a": 2}"#);
        variable(&mut rig, Some(tenant));
        cancel(&mut rig, instance);
    }
    follow(&mut rig, &store);
    for (entity, of_each, of_nobody) in [
        (&PROCESS_DEFINITION, 1, 0),
        (&PROCESS_INSTANCE, 2, 0),
        (&ELEMENT_INSTANCE, 10, 0),
        (&VARIABLE, 2, 0),
        (&JOB, 2, 0),
        (&EVENT_WAIT, 2, 0),
        (&USER_TASK, 2, 0),
        (&BATCH_OPERATION_ITEM, 1, 0),
        (&CLUSTER_VARIABLE, 1, 1),
        (&BATCH_OPERATION, 0, 2),
    ] {
        let count = |tenants: &[&str]| found(&store, entity, tenants).len();
        assert_eq!(count(&["acme"]), of_each + of_nobody, "{}", entity.title);
        assert_eq!(count(&["globex"]), of_each + of_nobody, "{}", entity.title);
        let both = count(&["acme", "globex"]);
        assert_eq!(both, 2 * of_each + of_nobody, "{}", entity.title);
        for others in [&[][..], &["<default>"], &["ACME", "acm"]] {
            assert_eq!(count(others), of_nobody, "{} {others:?}", entity.title);
        }
        // Rows found for a tenant belong to it.
        if let Some(at) = entity.index_of("tenantId") {
            let rows = found(&store, entity, &["acme"]);
            let foreign = |row: &Row| row[at].as_text().is_some_and(|tenant| tenant != "acme");
            assert!(!rows.iter().any(foreign), "{}", entity.title);
        }
    }
}

/// As after records were lost: a store whose log begins behind the deployment, without the definitions of the engine's state.
#[test]
fn rows_of_an_unknown_definition_are_of_no_tenant_that_is_checked() {
    for (tenants, of_default) in [(true, 0), (false, 1)] {
        let (mut rig, store) = (Rig::new(), store(tenants));
        rig.record_batches();
        rig.claims = Claims::Internal;
        rig.tenant = TenantId::new("acme");
        rig.deploy(process());
        rig.batches.clear();
        rig.create("p", r#"{"a": 1}"#);
        follow(&mut rig, &store);
        for entity in [&PROCESS_INSTANCE, &VARIABLE, &USER_TASK] {
            let rows = found(&store, entity, &["<default>"]);
            assert_eq!(rows.len(), of_default, "{} {tenants}", entity.title);
            let rows = found(&store, entity, &["acme"]);
            assert!(rows.is_empty(), "{} {tenants}", entity.title);
        }
        // Who is not limited to tenants sees them.
        assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 1);
    }
}
