//! Each entity, projected from the records of a small story.

use serde_json::{Value as Json, json};
use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, DecisionRef, EvaluateDecision, MigrateProcessInstance};
use skep_protocol::origin::Claims;
use skep_protocol::value::{
    ClusterVariableValue, GlobalListenerEvent, GlobalListenerValue, ListenerEvent,
    MappingInstruction,
};
use skep_protocol::{Document, TenantId};
use skep_query::entities::{
    CLUSTER_VARIABLE, CORRELATED_MESSAGE_SUBSCRIPTION, DECISION_DEFINITION, DECISION_INSTANCE,
    DECISION_REQUIREMENTS, ELEMENT_INSTANCE, EVENT_WAIT, FORM, GLOBAL_TASK_LISTENER, INCIDENT, JOB,
    MESSAGE_SUBSCRIPTION, PROCESS_DEFINITION, PROCESS_INSTANCE, RESOURCE, USER_TASK, VARIABLE,
};
use skep_query::{
    Answer, Condition, Groups, Measure, Op, Query, Related, Search, Value, merge, search,
};

use skep_testkit::rig::{Rig, decision, decisions};
use skep_testkit::scenario::Scenario;
use skep_testkit::stores::{follow, rig};

fn evaluate(rig: &mut Rig, id: &str, variables: &str) {
    let _ = rig.send(Command::EvaluateDecision(EvaluateDecision {
        decision: DecisionRef::Id(id.into()),
        variables: Document::parse(variables).unwrap(),
    }));
}

#[test]
fn decisions_have_the_names_of_their_files_and_know_the_latest() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deployed(vec![("a.dmn", decision("file", "d", "1"))]);
    rig.deployed(vec![("a.dmn", decision("file", "d", "2"))]);
    follow(&mut rig, &store);
    let all = store.find(&DECISION_DEFINITION, "{}");
    assert_eq!(all.len(), 2);
    let latest = store.one(&DECISION_DEFINITION, r#"{"isLatestVersion": true}"#);
    assert_eq!(
        (
            &latest["version"],
            &latest["decisionRequirementsName"],
            &latest["decisionRequirementsVersion"]
        ),
        (&json!(2), &json!("file name"), &json!(2))
    );
    let files = store.find(&DECISION_REQUIREMENTS, r#"{"version": 2}"#);
    assert_eq!(files[0]["decisionRequirementsId"], "file");
    // The latest remaining version becomes the latest.
    let file = rig.events("DECISION_REQUIREMENTS").nth(1).unwrap().key;
    rig.delete_resource(file).unwrap();
    follow(&mut rig, &store);
    let latest = store.one(&DECISION_DEFINITION, r#"{"isLatestVersion": true}"#);
    assert_eq!(latest["version"], 1);
}

/// A regular query of the connectors runtime: all latest versions, page by page.
#[test]
fn a_version_that_comes_between_two_pages_is_not_a_second_latest_one() {
    let (mut rig, store) = rig(super::BACKEND);
    let deploy = |rig: &mut Rig, id: &str, version: u32| {
        let process = Bpmn::process(id)
            .start("s")
            .task(format!("t{version}"))
            .end("e");
        rig.deployed(vec![("p.bpmn", process.xml())]);
    };
    for id in ["b", "a"] {
        deploy(&mut rig, id, 1);
    }
    let page = |after: &str| {
        let body = format!(r#"{{"filter": {{"isLatestVersion": true}}, "page": {{{after}}}}}"#);
        let search = search(&PROCESS_DEFINITION, &body).unwrap();
        let Answer::Page(found) = store.ask(Query::Search(search.clone())) else {
            panic!("{body}");
        };
        let cursor = found
            .rows
            .last()
            .map(|row| merge::cursor_of(&search, row).encode(&PROCESS_DEFINITION));
        (found.rows.len(), cursor)
    };
    follow(&mut rig, &store);
    let (found, cursor) = page("");
    let cursor = cursor.expect("a row");
    for id in ["b", "a"] {
        deploy(&mut rig, id, 2);
    }
    follow(&mut rig, &store);
    assert_eq!((found, page(&format!(r#""after": "{cursor}""#)).0), (2, 0));
    assert_eq!(page(&format!(r#""before": "{cursor}""#)).0, 1);
    assert_eq!(store.find(&PROCESS_DEFINITION, "{}").len(), 4);
}

#[test]
fn evaluations_have_inputs_and_matched_rules() {
    let (mut rig, store) = rig(super::BACKEND);
    let table = r##"<decision id="dish" name="Dish"><informationRequirement><requiredDecision href="#base"/></informationRequirement>
        <decisionTable hitPolicy="UNIQUE"><input id="in" label="Base"><inputExpression><text>base</text></inputExpression></input>
        <output id="out" name="Out"/><rule id="r1"><inputEntry><text>&gt; 10</text></inputEntry>
        <outputEntry><text>&quot;big&quot;</text></outputEntry></rule></decisionTable></decision>
        <decision id="base" name="Base"><literalExpression><text>guests * 2</text></literalExpression></decision>"##;
    rig.deployed(vec![("menu.dmn", decisions("menu", table))]);
    evaluate(&mut rig, "dish", r#"{"guests": 30}"#);
    follow(&mut rig, &store);
    let dish = store.one(
        &DECISION_INSTANCE,
        r#"{"decisionDefinitionId": "dish", "state": "EVALUATED"}"#,
    );
    assert_eq!(dish["result"], r#""big""#);
    // The Java client of 8.9 does not accept null here.
    for of_process in [
        "processInstanceKey",
        "processDefinitionKey",
        "elementInstanceKey",
    ] {
        assert_eq!(dish[of_process], "-1", "{of_process}");
    }
    assert_eq!(
        dish["evaluatedInputs"],
        json!([{"inputId": "in", "inputName": "Base", "inputValue": "60"}])
    );
    assert_eq!(
        dish["matchedRules"],
        json!([{"ruleId": "r1", "ruleIndex": 1, "evaluatedOutputs": [
            {"outputId": "out", "outputName": "Out", "outputValue": "\"big\"", "ruleId": "r1", "ruleIndex": 1}]}])
    );
    let id = dish["decisionEvaluationInstanceKey"].as_str().unwrap();
    assert!(id.ends_with("-2"), "{id}");
    let filter = format!(r#"{{"decisionEvaluationInstanceKey": {{"$in": ["{id}"]}}}}"#);
    assert_eq!(store.one(&DECISION_INSTANCE, &filter), dish);
}

#[test]
fn a_failed_evaluation_says_which_decision_failed() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deployed(vec![("a.dmn", decision("file", "d", "assert(x, false)"))]);
    evaluate(&mut rig, "d", "{}");
    follow(&mut rig, &store);
    let failed = store.one(&DECISION_INSTANCE, r#"{"state": {"$like": "FAIL*"}}"#);
    let failure = failed["evaluationFailure"].as_str().unwrap();
    assert!(!failure.is_empty());
}

#[test]
fn messages_are_waited_for_and_correlated() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("waiting")
            .start("start")
            .catch_message("catch", "paid", "=order")
            .end("end"),
    );
    let instance = rig.create("waiting", r#"{"order": "o-1"}"#);
    follow(&mut rig, &store);
    let of_instance = format!(r#"{{"processInstanceKey": "{instance}"}}"#);
    let waiting = store.one(&MESSAGE_SUBSCRIPTION, &of_instance);
    assert_eq!(
        (
            &waiting["messageSubscriptionState"],
            &waiting["elementId"],
            &waiting["correlationKey"],
            &waiting["rootProcessInstanceKey"]
        ),
        (
            &json!("CREATED"),
            &json!("catch"),
            &json!("o-1"),
            &json!(instance.to_string())
        )
    );
    let message = rig.publish("paid", "o-1", 0, "{}");
    follow(&mut rig, &store);
    let waiting = store.one(&MESSAGE_SUBSCRIPTION, &of_instance);
    assert_eq!(waiting["messageSubscriptionState"], "CORRELATED");
    let got = store.one(
        &CORRELATED_MESSAGE_SUBSCRIPTION,
        &format!(r#"{{"messageKey": "{message}", "partitionId": 1}}"#),
    );
    assert_eq!(
        (
            &got["subscriptionKey"],
            &got["messageName"],
            &got["rootProcessInstanceKey"]
        ),
        (
            &waiting["messageSubscriptionKey"],
            &json!("paid"),
            &json!(instance.to_string())
        )
    );
    store.check_pages();
}

#[test]
fn a_message_that_begins_an_instance_is_correlated_too() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("begun")
            .start_message("by-message", "order")
            .end("end"),
    );
    rig.publish("order", "", 0, "{}");
    follow(&mut rig, &store);
    let got = store.one(&CORRELATED_MESSAGE_SUBSCRIPTION, "{}");
    let instance = store.one(&PROCESS_INSTANCE, "{}");
    assert_eq!(
        (
            &got["elementId"],
            &got["processInstanceKey"],
            &got["elementInstanceKey"],
            &got["correlationKey"]
        ),
        (
            &json!("by-message"),
            &instance["processInstanceKey"],
            &Json::Null,
            &Json::Null
        )
    );
}

#[test]
fn a_user_task_has_its_form() {
    let (mut rig, store) = rig(super::BACKEND);
    let recorded = Scenario::named("user-task/form-linked");
    let file = |name| (name, recorded.part(name).to_string());
    rig.deployed(vec![file("the.form"), file("process.bpmn")]);
    rig.create("p", "{}");
    follow(&mut rig, &store);
    let form = store.one(&FORM, "{}");
    let task = store.one(&USER_TASK, "{}");
    assert_eq!(
        (&form["formId"], &form["version"], &task["formKey"]),
        (&json!("the-form"), &json!(1), &form["formKey"])
    );
    assert_eq!(form["schema"], recorded.part("the.form"));
}

#[test]
fn rows_have_the_tenant_of_their_definition() {
    let (mut rig, store) = rig(super::BACKEND);
    (rig.tenant, rig.claims) = (TenantId::new("acme"), Claims::Internal);
    rig.deploy(Bpmn::process("p").start("start").task("task").end("end"));
    rig.create("p", r#"{"a": 1}"#);
    follow(&mut rig, &store);
    for entity in [&PROCESS_DEFINITION, &PROCESS_INSTANCE, &VARIABLE] {
        let row = store.one(entity, "{}");
        assert_eq!(row["tenantId"], "acme", "{}", entity.title);
    }
}

#[test]
fn taken_sequence_flows_are_found_whenever_they_were_taken() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .end("end"),
    );
    let process_instance_key = rig.create("p", "{}");
    let flows = |store: &skep_testkit::stores::Filled| match store.ask(Query::SequenceFlows {
        process_instance_key,
    }) {
        Answer::Rows(rows) => rows
            .iter()
            .map(|row| row[0].as_text().unwrap().to_string())
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    follow(&mut rig, &store);
    assert_eq!(flows(&store), ["start-task"]);
    rig.work("work", "{}");
    follow(&mut rig, &store);
    assert_eq!(flows(&store), ["start-task", "task-end"]);
}

#[test]
fn migrated_entities_show_their_new_definition() {
    let (mut rig, store) = rig(super::BACKEND);
    let model = |id: &str, names: [&str; 4]| {
        let [fork, task, wait, ask] = names;
        Bpmn::process(id)
            .start("s")
            .parallel(fork)
            .service_task(task, "work")
            .end("e1")
            .from(fork)
            .catch_message(wait, "paid", "=order")
            .end("e2")
            .from(fork)
            .user_task(ask)
            .end("e3")
    };
    rig.deploy(model("old", ["fork", "task", "wait", "ask"]));
    rig.deploy(model("new", ["fork", "task2", "wait2", "ask2"]));
    let instance = rig.create("old", r#"{"order": "o-1"}"#);
    let job = rig.job("work");
    rig.fail(&job, 0, 0);
    let target = rig.definition("new");
    let pairs = [("task", "task2"), ("wait", "wait2"), ("ask", "ask2")];
    rig.migrate(instance, "new", &pairs).unwrap();
    follow(&mut rig, &store);
    let process = store.one(&PROCESS_INSTANCE, "{}");
    assert_eq!(process["processDefinitionId"], "new");
    let of_target = format!(r#"{{"processDefinitionKey": "{target}"}}"#);
    for (entity, element) in [
        (&JOB, "task2"),
        (&INCIDENT, "task2"),
        (&MESSAGE_SUBSCRIPTION, "wait2"),
        (&USER_TASK, "ask2"),
    ] {
        assert_eq!(store.one(entity, &of_target)["elementId"], element);
    }
    assert_eq!(store.one(&JOB, &of_target)["state"], "MIGRATED");
    let active = r#"{"state": "ACTIVE"}"#;
    let elements = store.find(&ELEMENT_INSTANCE, active);
    let ids: Vec<&str> = elements
        .iter()
        .map(|e| e["elementId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| id.ends_with('2')), "{ids:?}");
    // The value remains.
    assert_eq!(store.one(&VARIABLE, "{}")["value"], r#""o-1""#);
}

#[test]
fn cluster_variables_have_their_scope_and_their_last_value() {
    let (mut rig, store) = rig(super::BACKEND);
    let variable = |value: &str, tenant: Option<&str>| ClusterVariableValue {
        name: "limit".into(),
        value: value.into(),
        tenant: tenant.map(TenantId::new),
    };
    let long = format!("\"{}\"", "x".repeat(9_000));
    for command in [
        Command::CreateClusterVariable(variable("1", None)),
        Command::CreateClusterVariable(variable("2", Some("acme"))),
        Command::UpdateClusterVariable(variable(&long, None)),
    ] {
        rig.send(command).unwrap();
    }
    follow(&mut rig, &store);
    let all = store.find(&CLUSTER_VARIABLE, "{}");
    let scopes = all.iter().map(|row| row["scope"].as_str().unwrap());
    assert_eq!(scopes.collect::<Vec<_>>(), ["GLOBAL", "TENANT"]);
    let filter = r#"{"scope": "GLOBAL", "isTruncated": true}"#;
    let global = store.one(&CLUSTER_VARIABLE, filter);
    assert_eq!(global["tenantId"], Json::Null);
    let of_tenant = store.one(&CLUSTER_VARIABLE, r#"{"tenantId": {"$eq": "acme"}}"#);
    assert_eq!(
        (&of_tenant["name"], &of_tenant["value"]),
        (&json!("limit"), &json!("2"))
    );
    store.check_pages();
    rig.send(Command::DeleteClusterVariable {
        name: "limit".into(),
        tenant: Some(TenantId::new("acme")),
    })
    .unwrap();
    follow(&mut rig, &store);
    assert_eq!(store.find(&CLUSTER_VARIABLE, "{}"), [global]);
}

#[test]
fn global_task_listeners_are_found_by_their_events() {
    let (mut rig, store) = rig(super::BACKEND);
    let listener = |id: &str, events: &[GlobalListenerEvent], priority| GlobalListenerValue {
        id: id.into(),
        job_type: "ear".into(),
        retries: 3,
        events: events.into(),
        after_non_global: priority < 50,
        priority,
    };
    let one = GlobalListenerEvent::One;
    let (creating, completing) = (one(ListenerEvent::Creating), one(ListenerEvent::Completing));
    for command in [
        Command::CreateGlobalListener(listener("all", &[GlobalListenerEvent::All], 60)),
        Command::CreateGlobalListener(listener("two", &[creating, completing], 50)),
        Command::CreateGlobalListener(listener("gone", &[completing], 50)),
        Command::UpdateGlobalListener(listener("two", &[creating, completing], 40)),
        Command::DeleteGlobalListener { id: "gone".into() },
    ] {
        rig.send(command).unwrap();
    }
    follow(&mut rig, &store);
    let there = |filter: &str| {
        let found = store.find(&GLOBAL_TASK_LISTENER, filter);
        let left = found.into_iter();
        left.map(|row| row["id"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(there("{}"), ["all", "two"]);
    assert_eq!(
        there(r#"{"eventTypes": ["creating", "completing"]}"#),
        ["two"]
    );
    assert_eq!(there(r#"{"eventTypes": [{"$like": "creat*"}]}"#), ["two"]);
    assert_eq!(
        there(r#"{"priority": {"$gt": 50}, "source": "API"}"#),
        ["all"]
    );
    let two = store.one(
        &GLOBAL_TASK_LISTENER,
        r#"{"id": "two", "afterNonGlobal": true}"#,
    );
    let shown = json!({
        "id": "two", "type": "ear", "retries": 3, "eventTypes": ["creating", "completing"],
        "afterNonGlobal": true, "priority": 40, "source": "API",
    });
    assert_eq!(two, shown);
}

#[test]
fn elements_are_counted_over_all_instances_and_over_some() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .end("end"),
    );
    let definition = rig.events("PROCESS").next().unwrap().key;
    let keys: Vec<_> = (0..4).map(|_| rig.create("p", "{}")).collect();
    let jobs = rig.jobs("work");
    rig.complete(&jobs[0], "{}");
    rig.fail(&jobs[1], 0, 0);
    rig.cancel(keys[2]).unwrap();
    follow(&mut rig, &store);
    let rows = |query: Query| match store.ask(query) {
        Answer::Rows(rows) => rows
            .into_iter()
            .map(|row| {
                let counts = row[1..].iter().map(|count| count.as_int().unwrap());
                (row[0].as_text().unwrap().to_string(), counts.collect())
            })
            .collect::<Vec<(String, Vec<i64>)>>(),
        other => panic!("{other:?}"),
    };
    let row = |name: &str, counts: [i64; 4]| (name.to_string(), counts.to_vec());
    // Active, cancelled, with incidents, completed.
    let all = rows(Query::DefinitionStatistics {
        process_definition_key: definition,
    });
    assert_eq!(
        all,
        [
            row("end", [0, 0, 0, 1]),
            row("start", [0, 0, 0, 4]),
            row("task", [1, 1, 1, 1])
        ]
    );
    let state = ELEMENT_INSTANCE.column("state");
    let is = |field, value: &str| Condition::Field {
        field,
        op: Op::Eq(Value::text(value)),
    };
    let running = Related {
        entity: &PROCESS_INSTANCE,
        own: "processInstanceKey",
        link: "processInstanceKey",
        conditions: vec![is(PROCESS_INSTANCE.column("state"), "ACTIVE")],
    };
    let some = rows(Query::Groups(Groups {
        search: Search::all(
            &ELEMENT_INSTANCE,
            vec![Condition::Related(Box::new(running))],
            0,
        ),
        by: vec![ELEMENT_INSTANCE.column("elementId")],
        span: None,
        measures: vec![
            Measure::RowsWhere(vec![is(state, "ACTIVE")]),
            Measure::Rows,
            Measure::Distinct(ELEMENT_INSTANCE.column("processInstanceKey")),
            Measure::RowsWhere(vec![is(state, "COMPLETED")]),
        ],
    }));
    assert_eq!(
        some,
        [row("start", [0, 2, 2, 2]), row("task", [2, 2, 2, 0])]
    );
}

#[test]
fn timers_signals_and_conditions_are_open_until_they_come() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .catch_duration("timer", "PT1M")
            .catch_signal("signal", "go")
            .catch_condition("condition", "=late = true")
            .end("end"),
    );
    let instance = rig.create("p", "{}");
    follow(&mut rig, &store);
    let of_instance = format!(r#"{{"processInstanceKey": "{instance}", "isOpen": true}}"#);
    let timer = store.one(&EVENT_WAIT, &of_instance);
    assert_eq!(
        (&timer["kind"], &timer["elementId"], &timer["dueDate"]),
        (
            &json!("TIMER"),
            &json!("timer"),
            &json!("2026-01-01T00:01:00.000Z")
        )
    );
    rig.advance(60_000);
    follow(&mut rig, &store);
    let signal = store.one(&EVENT_WAIT, &of_instance);
    assert_eq!(
        (&signal["kind"], &signal["signalName"]),
        (&json!("SIGNAL"), &json!("go"))
    );
    rig.broadcast("go", "{}");
    follow(&mut rig, &store);
    let condition = store.one(&EVENT_WAIT, &of_instance);
    assert_eq!(
        (&condition["kind"], &condition["condition"]),
        (&json!("CONDITION"), &json!("late = true"))
    );
    rig.cancel(instance).unwrap();
    follow(&mut rig, &store);
    assert!(store.find(&EVENT_WAIT, &of_instance).is_empty());
}

#[test]
fn a_migrated_instance_is_one_of_its_new_definition_and_keeps_its_variables() {
    let (mut rig, store) = rig(super::BACKEND);
    let process = |id: &str, task: &str| {
        Bpmn::process(id)
            .start("start")
            .user_task(task)
            .boundary_message("late", task, "remind", "=order")
            .end("reminded")
            .from(task)
            .end("end")
    };
    rig.deploy(process("old", "before"));
    rig.deploy(process("new", "after"));
    let instance = rig.create("old", r#"{"order": "o-1"}"#);
    let target = rig.events("PROCESS").nth(1).unwrap().key;
    let mapping = |source: &str, target: &str| MappingInstruction {
        source_element_id: source.into(),
        target_element_id: target.into(),
    };
    rig.send(Command::MigrateProcessInstance(MigrateProcessInstance {
        process_instance_key: instance,
        target_process_definition_key: target,
        mapping_instructions: vec![mapping("before", "after"), mapping("late", "late")],
    }))
    .unwrap();
    follow(&mut rig, &store);
    let of_instance = format!(r#"{{"processInstanceKey": "{instance}"}}"#);
    let row = store.one(&PROCESS_INSTANCE, &of_instance);
    assert_eq!(
        (&row["processDefinitionId"], &row["processDefinitionKey"]),
        (&json!("new"), &json!(target.to_string()))
    );
    for (entity, field, expected) in [
        (&USER_TASK, "elementId", "after"),
        (&USER_TASK, "processDefinitionId", "new"),
        (&MESSAGE_SUBSCRIPTION, "processDefinitionId", "new"),
        (
            &MESSAGE_SUBSCRIPTION,
            "messageSubscriptionState",
            "MIGRATED",
        ),
        (&VARIABLE, "value", "\"o-1\""),
    ] {
        assert_eq!(store.one(entity, &of_instance)[field], expected, "{field}");
    }
    let active = format!(r#"{{"processInstanceKey": "{instance}", "state": "ACTIVE"}}"#);
    assert_eq!(store.one(&ELEMENT_INSTANCE, &active)["elementId"], "after");
}

#[test]
fn an_output_collection_shows_the_results_so_far() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .for_each("=[1, 2, 3]", "item")
            .collect("=result", "results")
            .end("end"),
    );
    rig.create("p", "{}");
    let jobs = rig.jobs("work");
    let results = |store: &skep_testkit::stores::Filled| {
        store.one(&VARIABLE, r#"{"name": "results"}"#)["value"].clone()
    };
    follow(&mut rig, &store);
    assert_eq!(results(&store), "[null,null,null]");
    rig.complete(&jobs[1], r#"{"result": {"a" : "x"}}"#);
    follow(&mut rig, &store);
    assert_eq!(results(&store), r#"[null,{"a":"x"},null]"#);
    rig.complete(&jobs[0], r#"{"result": 7}"#);
    follow(&mut rig, &store);
    assert_eq!(results(&store), r#"[7,{"a":"x"},null]"#);
}

/// Longer lists are logged item by item.
#[test]
fn the_list_of_an_ad_hoc_sub_process_has_every_item_however_long_it_is() {
    let (mut rig, store) = rig(super::BACKEND);
    let tools = r#"<zeebe:adHoc activeElementsCollection="=for i in 1..20 return &quot;tool&quot;"
        outputCollection="results" outputElement="=v"/>"#;
    let inside = |inside: Bpmn| inside.service_task("tool", "tool");
    let bpmn = Bpmn::process("p").start("start").ad_hoc("hoc", inside);
    rig.deploy(bpmn.extension(tools).until("=false").end("end"));
    rig.create("p", "{}");
    let value = |n: usize| format!("{n:0100}");
    for (n, job) in rig.jobs("tool").iter().enumerate() {
        rig.complete(job, &json!({"v": value(n)}).to_string());
        if n % 3 == 0 {
            follow(&mut rig, &store);
        }
    }
    follow(&mut rig, &store);
    let results = store.one(&VARIABLE, r#"{"name": "results"}"#);
    let results: Vec<String> = serde_json::from_str(results["value"].as_str().unwrap()).unwrap();
    assert_eq!(results, (0..20).map(value).collect::<Vec<_>>());
}

#[test]
fn a_task_is_due_when_the_engine_says_in_whatever_form_the_date_is() {
    let (mut rig, store) = rig(super::BACKEND);
    let schedule = r#"<zeebe:taskSchedule dueDate="=due"/>"#;
    let bpmn = Bpmn::process("p").start("start").user_task("task");
    rig.deploy(bpmn.extension(schedule).end("end"));
    for (due, shown) in [
        (
            "2026-07-01T10:00:00@Europe/Berlin",
            "2026-07-01T08:00:00.000Z",
        ),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
        (
            " 2026-07-01T10:00:00+02:00[Europe/Berlin] ",
            "2026-07-01T08:00:00.000Z",
        ),
    ] {
        let key = rig.create("p", &json!({"due": due}).to_string());
        follow(&mut rig, &store);
        let task = store.one(&USER_TASK, &format!(r#"{{"processInstanceKey": "{key}"}}"#));
        assert_eq!(task["dueDate"], shown, "{due}");
    }
    let never = r#"{"dueDate": {"$gte": "9999-12-31T00:00:00Z"}}"#;
    assert_eq!(store.find(&USER_TASK, never).len(), 1);
}

#[test]
fn deleted_resources_are_marked() {
    let (mut rig, store) = rig(super::BACKEND);
    let recorded = Scenario::named("user-task/form-linked");
    rig.deployed(vec![
        ("the.form", recorded.part("the.form").to_string()),
        (
            "script.rpa",
            r#"{"id": "script", "script": "x"}"#.to_string(),
        ),
    ]);
    for kind in ["FORM", "RESOURCE"] {
        let key = rig.events(kind).next().unwrap().key;
        rig.delete_resource(key).unwrap();
    }
    follow(&mut rig, &store);
    let form = store.one(&FORM, r#"{"isDeleted": true}"#);
    assert_eq!(form["formId"], json!("the-form"));
    let deleted = Condition::Field {
        field: RESOURCE.column("isDeleted"),
        op: Op::Eq(Value::from(true)),
    };
    let search = Search::all(&RESOURCE, vec![deleted], 10);
    let Answer::Page(found) = store.ask(Query::Search(search)) else {
        panic!("no page");
    };
    let id = &found.rows[0][RESOURCE.column("resourceId")];
    assert_eq!((found.total, id), (1, &Value::text("script")));
}

/// Members of 8.10.
#[test]
fn entities_of_an_instance_have_its_business_id() {
    let (mut rig, store) = rig(super::BACKEND);
    let tool = r#"<zeebe:properties><zeebe:property name="io.camunda.tool:name" value="pay"/>
        <zeebe:property name="io.camunda.tool:unit" value="EUR"/><zeebe:property name="inbound.type" value="webhook"/>
        <zeebe:property name="other" value="x"/></zeebe:properties>"#;
    rig.deployed(vec![("a.dmn", decision("file", "d", "1"))]);
    rig.deploy(
        Bpmn::process("p")
            .name("Payment")
            .start("start")
            .decision("decide", "d", "result")
            .user_task("ask")
            .boundary_message("paid", "ask", "paid", "=order")
            .extension(tool)
            .end("e1")
            .from("ask")
            .end("e2"),
    );
    for (order, business_id) in [("o-1", Some("B-7")), ("o-2", None)] {
        let mut creation = Rig::creation("p", &format!(r#"{{"order": "{order}"}}"#));
        creation.business_id = business_id.map(str::to_string);
        rig.send(Command::CreateProcessInstance(creation)).unwrap();
    }
    evaluate(&mut rig, "d", "{}");
    follow(&mut rig, &store);
    // Later entities have it as well.
    rig.publish("paid", "o-1", 0, "{}");
    follow(&mut rig, &store);
    let of_business = r#"{"businessId": {"$like": "B-*"}}"#;
    for entity in [
        &USER_TASK,
        &DECISION_INSTANCE,
        &MESSAGE_SUBSCRIPTION,
        &CORRELATED_MESSAGE_SUBSCRIPTION,
    ] {
        assert_eq!(
            store.one(entity, of_business)["businessId"],
            "B-7",
            "{}",
            entity.title
        );
    }
    let without = store.find(&DECISION_INSTANCE, r#"{"businessId": {"$exists": false}}"#);
    assert_eq!(without.len(), 2);
    let waiting = store.one(
        &MESSAGE_SUBSCRIPTION,
        r#"{"toolName": "pay", "correlationKey": "o-2"}"#,
    );
    for (name, value) in [
        ("messageSubscriptionType", json!("PROCESS_EVENT")),
        ("processDefinitionName", json!("Payment")),
        ("processDefinitionVersion", json!(1)),
        (
            "toolProperties",
            json!({"io.camunda.tool:name": "pay", "io.camunda.tool:unit": "EUR"}),
        ),
        ("inboundConnectorType", json!("webhook")),
        ("businessId", Json::Null),
    ] {
        assert_eq!(waiting[name], value, "{name}");
    }
}
