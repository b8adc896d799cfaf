//! Multi-instance activities: one instance for each item of a collection, in parallel or sequentially.

use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::command::Command;
use skep_testkit::rig::*;

const INPUT: &str = r#"inputCollection="=items" inputElement="item""#;
const OUTPUT: &str = r#"outputCollection="results" outputElement="=r""#;

/// A process with `activity`, whose id is "work", between start and end.
fn process(activity: &str) -> String {
    format!(
        r#"<bpmn:process id="p" isExecutable="true">
             <bpmn:startEvent id="s"/>
             {activity}
             <bpmn:endEvent id="e"/>
             <bpmn:sequenceFlow id="f1" sourceRef="s" targetRef="work"/>
             <bpmn:sequenceFlow id="f2" sourceRef="work" targetRef="e"/>
           </bpmn:process>"#
    )
}

fn marker(sequential: bool, characteristics: &str, condition: &str) -> String {
    let condition = match condition {
        "" => String::new(),
        text => format!("<bpmn:completionCondition>{text}</bpmn:completionCondition>"),
    };
    format!(
        r#"<bpmn:multiInstanceLoopCharacteristics isSequential="{sequential}">
             <bpmn:extensionElements><zeebe:loopCharacteristics {characteristics}/></bpmn:extensionElements>
             {condition}
           </bpmn:multiInstanceLoopCharacteristics>"#
    )
}

fn service_task(marker: &str) -> String {
    process(&format!(
        r#"<bpmn:serviceTask id="work">
             <bpmn:extensionElements><zeebe:taskDefinition type="work"/></bpmn:extensionElements>
             {marker}
           </bpmn:serviceTask>"#
    ))
}

fn rig(processes: &[&str]) -> Rig {
    let mut rig = Rig::new();
    let text = format!(
        r#"<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
             xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
             <bpmn:error id="oops" errorCode="oops"/>
             {}
           </bpmn:definitions>"#,
        processes.concat()
    );
    rig.deploy_files(vec![("p.bpmn", text)])
        .expect("it deploys");
    rig
}

/// `[0, 1, …]` with this many items, as the variables of an instance.
fn items(count: usize) -> String {
    let items: Vec<String> = (0..count).map(|i| i.to_string()).collect();
    format!(r#"{{"items":[{}]}}"#, items.join(","))
}

fn body(rig: &Rig) -> Key {
    let mut bodies = rig.events("PROCESS_INSTANCE").filter(|record| {
        record.intent == "ELEMENT_ACTIVATING"
            && record.text("bpmnElementType") == "MULTI_INSTANCE_BODY"
    });
    bodies.next().expect("there is a body").key
}

/// Number of instances of the activity and its body with an event of this intent.
fn count(rig: &Rig, instance: Key, intent: &str) -> usize {
    let elements = rig.elements(instance, intent);
    elements.iter().filter(|element| *element == "work").count()
}

#[test]
fn a_parallel_one_has_an_instance_for_each_item_and_collects_by_item() {
    let mut rig = rig(&[&service_task(&marker(
        false,
        &format!("{INPUT} {OUTPUT}"),
        "",
    ))]);
    let instance = rig.create("p", r#"{"items":["a",{"b":[1]},null]}"#);
    let jobs = rig.jobs("work");
    let inner: Vec<_> = jobs
        .iter()
        .map(|job| {
            let key = job.element_instance_key;
            let variable = |name| rig.variable(key, name).unwrap();
            (variable("item"), variable("loopCounter"))
        })
        .collect();
    let expected = [(r#""a""#, "1"), (r#"{"b":[1]}"#, "2"), ("null", "3")];
    let expected = expected.map(|(item, counter)| (item.to_string(), counter.to_string()));
    assert_eq!(inner, expected);
    // The order of completion does not matter.
    rig.complete(&jobs[2], r#"{"r":"third"}"#);
    rig.complete(&jobs[0], r#"{"r":"first"}"#);
    let results = rig.variable(body(&rig), "results").unwrap();
    assert_eq!(results, r#"["first",null,"third"]"#);
    assert!(rig.variable(instance, "results").is_none());
    rig.complete(&jobs[1], r#"{"r":[2]}"#);
    rig.assert_completed(instance);
    let results = rig.variable(instance, "results").unwrap();
    assert_eq!(results, r#"["first",[2],"third"]"#);
    // The worker's variable named like the output element stays local to the inner instance.
    assert!(rig.variable(instance, "r").is_none());
}

/// Activities that run a job with `output`, mapped to what `mapping` says; also as the process that a call activity calls.
fn with_mapping(activity: &str, mapping: &str, marker: &str) -> String {
    let mapping = format!("<zeebe:ioMapping>{mapping}</zeebe:ioMapping>");
    let task = r#"<zeebe:taskDefinition type="work"/>"#;
    let called = r#"<zeebe:calledElement processId="called" propagateAllParentVariables="false" propagateAllChildVariables="false"/>"#;
    match activity {
        "service task" => process(&format!(
            r#"<bpmn:serviceTask id="work"><bpmn:extensionElements>{task}{mapping}</bpmn:extensionElements>{marker}</bpmn:serviceTask>"#
        )),
        "call activity" => process(&format!(
            r#"<bpmn:callActivity id="work"><bpmn:extensionElements>{called}{mapping}</bpmn:extensionElements>{marker}</bpmn:callActivity>"#
        )),
        "sub-process" => process(&format!(
            r#"<bpmn:subProcess id="work"><bpmn:extensionElements>{mapping}</bpmn:extensionElements>{marker}
                 <bpmn:startEvent id="s1"/><bpmn:sequenceFlow id="g1" sourceRef="s1" targetRef="t"/>
                 <bpmn:serviceTask id="t"><bpmn:extensionElements>{task}</bpmn:extensionElements></bpmn:serviceTask>
               </bpmn:subProcess>"#
        )),
        other => panic!("{other} is not an activity of this test"),
    }
}

/// Completes the jobs of all instances, whether they wait together or one after the other.
fn complete_all(rig: &mut Rig, results: [&str; 2]) {
    let mut results = results.into_iter();
    while results.len() > 0 {
        let jobs = rig.jobs("work");
        assert!(!jobs.is_empty());
        for job in jobs {
            rig.complete(&job, results.next().expect("a job for each item"));
        }
    }
}

#[test]
fn an_output_mapping_sets_the_output_element() {
    let called = Bpmn::process("called").start("s").service_task("t", "work");
    let called = called.end("e");
    for activity in ["service task", "call activity", "sub-process"] {
        for sequential in [false, true] {
            let marker = marker(sequential, &format!("{INPUT} {OUTPUT}"), "");
            let mapping = r#"<zeebe:output source="=answer" target="r"/>
                             <zeebe:output source="=item" target="last"/>"#;
            let mut rig = rig(&[&with_mapping(activity, mapping, &marker)]);
            rig.deploy(called.clone());
            let instance = rig.create("p", r#"{"items":[1,2]}"#);
            complete_all(&mut rig, [r#"{"answer":10}"#, r#"{"answer":20}"#]);
            rig.assert_completed(instance);
            let variable = |name| rig.variable(instance, name);
            let which = format!("{activity}, sequential: {sequential}");
            assert_eq!(variable("results").as_deref(), Some("[10,20]"), "{which}");
            assert_eq!(variable("r"), None, "{which}");
            // Other names go outwards, as from any activity.
            assert_eq!(variable("last").as_deref(), Some("2"), "{which}");
        }
    }
}

#[test]
fn an_output_element_that_is_a_path_begins_at_a_variable_of_each_instance() {
    for sequential in [false, true] {
        let output = r#"outputCollection="results" outputElement="=r.x""#;
        let marker = marker(sequential, &format!("{INPUT} {output}"), "");
        let mut rig = rig(&[&service_task(&marker)]);
        let instance = rig.create("p", r#"{"items":[1,2]}"#);
        complete_all(&mut rig, [r#"{"r":{"x":1}}"#, "{}"]);
        rig.assert_completed(instance);
        assert_eq!(rig.variable(instance, "results").unwrap(), "[1,null]");
        assert_eq!(rig.variable(instance, "r"), None);
    }
}

#[test]
fn a_sequential_one_begins_the_next_when_one_has_completed() {
    let mut rig = rig(&[&service_task(&marker(
        true,
        &format!("{INPUT} {OUTPUT}"),
        "",
    ))]);
    let instance = rig.create("p", r#"{"items":[5,6,7]}"#);
    for expected in ["5", "6", "7"] {
        let jobs = rig.jobs("work");
        let [job] = &jobs[..] else {
            panic!("{} jobs at a time", jobs.len())
        };
        let key = job.element_instance_key;
        assert_eq!(rig.variable(key, "item").unwrap(), expected);
        rig.complete(job, &format!(r#"{{"r":{expected}}}"#));
    }
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "results").unwrap(), "[5,6,7]");
}

#[test]
fn nothing_is_done_for_an_empty_collection() {
    for sequential in [false, true] {
        let marker = marker(sequential, &format!("{INPUT} {OUTPUT}"), "");
        let mut rig = rig(&[&service_task(&marker)]);
        let instance = rig.create("p", r#"{"items":[]}"#);
        rig.assert_completed(instance);
        assert_eq!(rig.variable(instance, "results").unwrap(), "[]");
        assert_eq!(count(&rig, instance, "ELEMENT_ACTIVATED"), 1, "the body");
    }
}

#[test]
fn the_completion_condition_knows_how_many_there_are() {
    let condition = "=numberOfCompletedInstances = 2 and numberOfInstances = 5 and numberOfActiveInstances = 3 and \
                     numberOfTerminatedInstances = 0";
    let mut rig = rig(&[&service_task(&marker(false, INPUT, condition))]);
    let instance = rig.create("p", &items(5));
    let jobs = rig.jobs("work");
    rig.complete(&jobs[3], "{}");
    assert!(rig.is_running(instance));
    rig.complete(&jobs[1], "{}");
    rig.assert_completed(instance);
    // Two inner instances and the body; the others were terminated.
    assert_eq!(count(&rig, instance, "ELEMENT_COMPLETED"), 3);
    assert_eq!(count(&rig, instance, "ELEMENT_TERMINATED"), 3);
}

#[test]
fn a_sequential_one_that_is_fulfilled_begins_no_more() {
    let condition = "=numberOfCompletedInstances = 2";
    let mut rig = rig(&[&service_task(&marker(true, INPUT, condition))]);
    let instance = rig.create("p", &items(5));
    rig.work("work", "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
    assert_eq!(count(&rig, instance, "ELEMENT_ACTIVATED"), 3);
}

#[test]
fn a_collection_that_is_no_list_is_an_incident_of_the_body() {
    let mut rig = rig(&[&service_task(&marker(false, INPUT, ""))]);
    let instance = rig.create("p", r#"{"items":{"a":1}}"#);
    let incident = rig.incident();
    assert_eq!(incident.element, "work");
    assert!(
        incident.message.contains("to be 'ARRAY', but was 'OBJECT'"),
        "{}",
        incident.message
    );
    rig.set_variables(instance, r#"{"items":[1]}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_constant_completion_condition_is_an_incident_of_each_instance() {
    let mut rig = rig(&[&service_task(&marker(false, INPUT, "true"))]);
    let instance = rig.create("p", &items(1));
    rig.work("work", "{}");
    assert!(rig.incident().message.contains("Put '=' before it"));
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn an_overwritten_output_collection_raises_an_incident() {
    let mut rig = rig(&[&service_task(&marker(
        false,
        &format!("{INPUT} {OUTPUT}"),
        "",
    ))]);
    let instance = rig.create("p", &items(1));
    rig.set_variables(body(&rig), r#"{"results":"mine"}"#, true);
    rig.work("work", r#"{"r":1}"#);
    let incident = rig.incident();
    assert!(
        incident.message.contains("output collection 'results'"),
        "{}",
        incident.message
    );
    rig.set_variables(body(&rig), r#"{"results":[ 0 , 0 ]}"#, true);
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "results").unwrap(), "[1,0]");
}

#[test]
fn an_error_of_one_is_caught_at_the_body_and_ends_all() {
    let marker = marker(false, INPUT, "");
    let text = service_task(&marker).replace(
        r#"<bpmn:endEvent id="e"/>"#,
        r#"<bpmn:endEvent id="e"/>
           <bpmn:boundaryEvent id="caught" attachedToRef="work"><bpmn:errorEventDefinition errorRef="oops"/></bpmn:boundaryEvent>
           <bpmn:endEvent id="after"/>
           <bpmn:sequenceFlow id="f3" sourceRef="caught" targetRef="after"/>"#,
    );
    let mut rig = rig(&[&text]);
    let instance = rig.create("p", &items(3));
    let jobs = rig.jobs("work");
    rig.complete(&jobs[0], "{}");
    rig.throw(&jobs[1], "oops", "{}");
    rig.assert_completed(instance);
    assert_eq!(
        rig.completed(instance),
        ["s", "work", "caught", "after", "p"]
    );
}

#[test]
fn a_cancel_ends_those_that_run_and_begins_no_more() {
    for turn_steps in [1, 7, 1000] {
        let mut rig = rig(&[&service_task(&marker(false, INPUT, ""))]);
        rig.turn_steps(turn_steps);
        rig.interrupted = true;
        let instance = rig.create("p", &items(20));
        rig.cancel(instance).unwrap();
        while rig.run_work() {}
        rig.interrupted = false;
        rig.assert_terminated(instance);
        rig.assert_nothing_left();
    }
}

#[test]
fn many_instances_without_a_wait_state_are_no_endless_loop() {
    for sequential in [false, true] {
        let marker = marker(
            sequential,
            &format!(
                "{INPUT} {}",
                r#"outputCollection="results" outputElement="=item""#
            ),
            "",
        );
        let task = process(&format!(r#"<bpmn:task id="work">{marker}</bpmn:task>"#));
        let mut rig = rig(&[&task]);
        let instance = rig.create("p", &items(6_000));
        rig.assert_completed(instance);
    }
}

#[test]
fn ten_thousand_instances_let_others_have_their_turn_and_survive_a_restart() {
    let small = r#"<bpmn:process id="small" isExecutable="true"><bpmn:startEvent id="begin"/></bpmn:process>"#;
    let mut rig = rig(&[&service_task(&marker(false, INPUT, "")), small]);
    rig.interrupted = true;
    let instance = rig.create("p", &items(10_000));
    let jobs = rig.intents("JOB").len();
    assert!((1..2_000).contains(&jobs), "{jobs} jobs in the first turn");
    let other = rig.create("small", "{}");
    assert!(!rig.is_running(other));
    let mut turns = 0;
    loop {
        rig.change_leader(1);
        if !rig.run_work() {
            break;
        }
        turns += 1;
    }
    assert!(turns > 5, "{turns} turns");
    assert_eq!(rig.intents("JOB").len(), 10_000);
    rig.cancel(instance).unwrap();
    while rig.run_work() {}
    rig.assert_terminated(instance);
}

#[test]
fn a_long_output_collection_is_not_rewritten_for_each_result() {
    const COUNT: usize = 300;
    let task = service_task(&marker(false, &format!("{INPUT} {OUTPUT}"), ""));
    let mut rig = rig(&[&task]);
    let instance = rig.create("p", &items(COUNT));
    let waiting = &rig.engine(1).state.jobs;
    let jobs: Vec<Key> = waiting
        .activatable("work", &skep_protocol::TenantId::default())
        .collect();
    rig.record_batches();
    rig.batches.clear();
    for (i, job) in jobs.iter().enumerate().rev() {
        let variables = format!(r#"{{"r":"result {i}"}}"#);
        let complete = Command::CompleteJob {
            job_key: *job,
            variables: skep_protocol::Document::parse(&variables).unwrap(),
            result: None,
        };
        rig.send(complete).unwrap();
    }
    rig.assert_completed(instance);
    let results = rig.variable(instance, "results").unwrap();
    let expected: Vec<String> = (0..COUNT).map(|i| format!(r#""result {i}""#)).collect();
    assert_eq!(results, format!("[{}]", expected.join(",")));
    let bytes: usize = rig.batches.iter().map(|(_, batch)| batch.len()).sum();
    assert!(
        bytes < COUNT * 1_000,
        "{bytes} bytes of log for {COUNT} results"
    );
}

#[test]
fn a_failing_activation_is_tried_again_with_the_item_as_it_was() {
    let task = process(&format!(
        r#"<bpmn:serviceTask id="work">
             <bpmn:extensionElements>
               <zeebe:taskDefinition type="work"/>
               <zeebe:ioMapping><zeebe:input source="=assert(item, item != null)" target="x"/></zeebe:ioMapping>
             </bpmn:extensionElements>
             {}
           </bpmn:serviceTask>"#,
        marker(false, INPUT, "")
    ));
    let mut rig = rig(&[&task]);
    let instance = rig.create("p", r#"{"items":[1,null,3]}"#);
    assert_eq!(rig.jobs("work").len(), 2);
    let incident = rig.incident();
    assert_eq!(incident.element, "work");
    // Retrying sets the item again: a value set in the meantime is lost.
    let record = rig.events("INCIDENT").last().unwrap();
    let stuck = Key(record.field("elementInstanceKey").as_i64().unwrap());
    rig.set_variables(stuck, r#"{"item":2}"#, true);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.variable(stuck, "item").unwrap(), "null");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}
