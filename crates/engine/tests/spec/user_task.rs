//! User tasks: their life cycle, and the commands of users.

use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::value::Corrections;
use skep_testkit::rig::*;

/// A process with one Camunda user task `ask` that has these extensions.
fn process(extensions: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .user_task("ask")
        .extension(extensions)
        .end("e")
}

const ANNA: &str = r#"<zeebe:assignmentDefinition assignee="anna"/>"#;

fn life(rig: &Rig) -> Vec<&'static str> {
    rig.intents("USER_TASK")
}

fn last<'a>(rig: &'a Rig, intent: &str) -> &'a Seen {
    let events = rig.events("USER_TASK").filter(|r| r.intent == intent);
    events.last().expect("there is such an event")
}

fn changed(record: &Seen) -> Vec<&str> {
    let names = record.field("changedAttributes").as_array().unwrap();
    names.iter().filter_map(|name| name.as_str()).collect()
}

#[test]
fn a_task_waits_until_its_user_completes_it() {
    let mut rig = Rig::with(process(""));
    let instance = rig.create("p", r#"{"x":1}"#);
    assert_eq!(life(&rig), ["CREATING", "CREATED"]);
    let task = rig.user_task();
    assert_eq!(last(&rig, "CREATED").field("userTaskKey"), task.0);
    rig.complete_task(task, r#"{"x":2,"answer":42}"#).unwrap();
    assert_eq!(life(&rig)[2..], ["COMPLETING", "COMPLETED"]);
    assert_eq!(last(&rig, "COMPLETED").text("action"), "complete");
    assert_eq!(rig.variable(instance, "answer").as_deref(), Some("42"));
    assert_eq!(rig.variable(instance, "x").as_deref(), Some("2"));
    rig.assert_completed(instance);
    let (kind, reason) = rejected(rig.complete_task(task, "{}"));
    assert_eq!(kind, "NOT_FOUND");
    assert!(reason.contains("no such user task"), "{reason}");
}

/// In the reference engine's format of evaluated dates.
#[test]
fn a_date_is_written_without_zero_seconds() {
    let schedule = r#"<zeebe:taskSchedule dueDate="=due"/>"#;
    for (due, exported) in [
        ("2031-05-05T07:08:00Z", "2031-05-05T07:08Z"),
        ("2031-05-05T07:08:00+02:00", "2031-05-05T07:08+02:00"),
        ("2031-05-05T07:08:00.5Z", "2031-05-05T07:08:00.5Z"),
        ("2031-05-05T07:08:09Z", "2031-05-05T07:08:09Z"),
    ] {
        let mut rig = Rig::with(process(schedule));
        rig.create("p", &format!(r#"{{"due":"{due}"}}"#));
        assert_eq!(last(&rig, "CREATED").text("dueDate"), exported);
    }
}

#[test]
fn a_date_and_time_without_zone_is_meant_in_utc() {
    let schedule = r#"<zeebe:taskSchedule dueDate="=date and time(&quot;2031-05-05T07:08:09&quot;)"
        followUpDate="=date and time(date(&quot;2031-05-05&quot;), time(&quot;09:00:00&quot;))"/>"#;
    let mut rig = Rig::with(process(schedule));
    rig.create("p", "{}");
    let task = last(&rig, "CREATED");
    assert_eq!(task.text("dueDate"), "2031-05-05T07:08:09Z");
    assert_eq!(task.text("followUpDate"), "2031-05-05T09:00Z");
}

#[test]
fn a_task_has_the_assignment_dates_and_form_of_the_model() {
    let mut rig = Rig::with(process(
        r#"<zeebe:assignmentDefinition assignee="=who" candidateGroups="a, b," candidateUsers="=[who]"/>
           <zeebe:taskSchedule dueDate="=due" followUpDate="2031-05-05T07:08:09Z"/>
           <zeebe:priorityDefinition priority="=10 + 7"/>
           <zeebe:formDefinition externalReference="=&quot;form/&quot; + who"/>
           <zeebe:taskHeaders><zeebe:header key="color" value="red"/></zeebe:taskHeaders>"#,
    ));
    rig.create("p", r#"{"who":"anna","due":null}"#);
    let life = life(&rig);
    assert_eq!(life, ["CREATING", "CREATED", "ASSIGNING", "ASSIGNED"]);
    assert_eq!(last(&rig, "CREATED").text("assignee"), "");
    let task = last(&rig, "ASSIGNED");
    assert_eq!(task.text("assignee"), "anna");
    assert_eq!(
        task.field("candidateGroupsList"),
        &serde_json::json!(["a", "b"])
    );
    assert_eq!(
        task.field("candidateUsersList"),
        &serde_json::json!(["anna"])
    );
    assert_eq!(task.text("dueDate"), "");
    assert_eq!(task.text("followUpDate"), "2031-05-05T07:08:09Z");
    assert_eq!(task.field("priority"), 17);
    assert_eq!(task.text("externalFormReference"), "form/anna");
}

#[test]
fn results_of_expressions_must_have_the_expected_type() {
    for (extension, variables, says) in [
        (
            r#"<zeebe:assignmentDefinition assignee="=x"/>"#,
            r#"{"x":null}"#,
            "'STRING'",
        ),
        (
            r#"<zeebe:assignmentDefinition candidateGroups="=x"/>"#,
            r#"{"x":"a"}"#,
            "'ARRAY'",
        ),
        (
            r#"<zeebe:assignmentDefinition candidateUsers="=x"/>"#,
            r#"{"x":["a",1]}"#,
            "'NUMBER'",
        ),
        (
            r#"<zeebe:taskSchedule dueDate="=x"/>"#,
            r#"{"x":"tomorrow"}"#,
            "due date 'tomorrow'",
        ),
        (
            r#"<zeebe:taskSchedule followUpDate="=x"/>"#,
            r#"{"x":1}"#,
            "a date and time",
        ),
        (
            r#"<zeebe:priorityDefinition priority="=x"/>"#,
            r#"{"x":101}"#,
            "it is 101",
        ),
        (
            r#"<zeebe:formDefinition externalReference="=x"/>"#,
            r#"{"x":1}"#,
            "'STRING'",
        ),
    ] {
        let mut rig = Rig::with(process(extension));
        let instance = rig.create("p", variables);
        let incident = rig.incident();
        assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
        assert!(
            incident.message.contains(says),
            "{extension}: {}",
            incident.message
        );
        assert!(life(&rig).is_empty());
        rig.cancel(instance).unwrap();
        rig.assert_terminated(instance);
    }
}

#[test]
fn tasks_are_assigned_claimed_and_unassigned() {
    let mut rig = Rig::with(process(ANNA));
    rig.create("p", "{}");
    let task = rig.user_task();
    let assignee = |rig: &Rig| last(rig, "ASSIGNED").text("assignee").to_string();
    rig.assign(task, "bert", "give").unwrap();
    assert_eq!(assignee(&rig), "bert");
    assert_eq!(changed(last(&rig, "ASSIGNED")), ["assignee"]);
    assert_eq!(last(&rig, "ASSIGNED").text("action"), "give");
    // It is already assigned to bert: nothing changes, and it is not an error.
    rig.claim(task, "bert").unwrap();
    assert!(changed(last(&rig, "ASSIGNED")).is_empty());
    let (kind, reason) = rejected(rig.claim(task, "carl"));
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("already been assigned"), "{reason}");
    rig.assign(task, "", "unassign").unwrap();
    assert_eq!(assignee(&rig), "");
    let (kind, _) = rejected(rig.claim(task, ""));
    assert_eq!(kind, "INVALID_ARGUMENT");
    rig.claim(task, "carl").unwrap();
    assert_eq!(assignee(&rig), "carl");
    assert_eq!(last(&rig, "CLAIMING").text("action"), "claim");
}

#[test]
fn an_update_changes_what_it_names() {
    let mut rig = Rig::with(process(ANNA));
    rig.create("p", "{}");
    let task = rig.user_task();
    let changes = Corrections {
        candidate_groups: Some(vec!["clerks".into()]),
        due_date: Some("2031-01-01T00:00:00+02:00".into()),
        priority: Some(50),
        ..Corrections::default()
    };
    rig.update_task(task, changes).unwrap();
    let updated = last(&rig, "UPDATED");
    assert_eq!(changed(updated), ["candidateGroupsList", "dueDate"]);
    assert_eq!(updated.text("assignee"), "anna");
    assert_eq!(updated.text("dueDate"), "2031-01-01T00:00:00+02:00");
    let changes = Corrections {
        due_date: Some("".into()),
        ..Corrections::default()
    };
    rig.update_task(task, changes).unwrap();
    assert_eq!(last(&rig, "UPDATED").text("dueDate"), "");
}

#[test]
fn an_update_that_no_task_may_have_is_refused() {
    let mut rig = Rig::with(process(""));
    rig.create("p", "{}");
    let task = rig.user_task();
    let records = rig.events("USER_TASK").count();
    for (changes, says) in [
        (Corrections::default(), "No update data provided"),
        (
            Corrections {
                priority: Some(-1),
                ..Corrections::default()
            },
            "from 0 to 100",
        ),
        (
            Corrections {
                follow_up_date: Some("2031-01-01".into()),
                ..Corrections::default()
            },
            "follow-up date",
        ),
    ] {
        let (kind, reason) = rejected(rig.update_task(task, changes));
        assert_eq!(kind, "INVALID_ARGUMENT");
        assert!(reason.contains(says), "{reason}");
    }
    assert_eq!(rig.events("USER_TASK").count(), records);
}

#[test]
fn variables_of_the_task_are_an_update_of_it() {
    let mut rig = Rig::with(process(""));
    let instance = rig.create("p", r#"{"x":1}"#);
    let element = rig.element_key("ask");
    rig.set_variables(element, r#"{"x":2}"#, false);
    assert_eq!(rig.variable(instance, "x").as_deref(), Some("2"));
    assert_eq!(changed(last(&rig, "UPDATED")), ["variables"]);
    assert_eq!(rig.intents("VARIABLE_DOCUMENT"), ["UPDATING", "UPDATED"]);
    rig.set_variables(element, r#"{"mine":1}"#, true);
    assert_eq!(rig.variable(element, "mine").as_deref(), Some("1"));
    // Variables of the process are not the task's.
    rig.set_variables(instance, r#"{"x":3}"#, true);
    assert_eq!(rig.events("USER_TASK").count(), 6);
}

#[test]
fn a_failing_output_mapping_does_not_bring_the_task_back() {
    let mut rig = Rig::with(process(
        r#"<zeebe:ioMapping><zeebe:output source="=assert(r, r != null)" target="o"/></zeebe:ioMapping>"#,
    ));
    let instance = rig.create("p", "{}");
    let task = rig.user_task();
    rig.complete_task(task, "{}").unwrap();
    assert_eq!(rig.incident().kind, "IO_MAPPING_ERROR");
    assert_eq!(rejected(rig.complete_task(task, "{}")).0, "NOT_FOUND");
    rig.set_variables(rig.element_key("ask"), r#"{"r":1}"#, true);
    rig.resolve(rig.incident().key).unwrap();
    rig.assert_completed(instance);
}

#[test]
fn a_task_is_cancelled_with_its_element() {
    let bpmn = process("")
        .boundary_duration("late", "ask", "PT1M")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let interrupted = rig.create("p", "{}");
    rig.advance(2 * MINUTE);
    assert_eq!(life(&rig)[2..], ["CANCELING", "CANCELED"]);
    rig.assert_completed(interrupted);
    let cancelled = rig.create("p", "{}");
    let task = rig.user_task();
    rig.cancel(cancelled).unwrap();
    rig.assert_terminated(cancelled);
    assert_eq!(rejected(rig.assign(task, "anna", "")).0, "NOT_FOUND");
}

#[test]
fn a_banned_instance_is_left_alone_until_it_is_cancelled() {
    let mut rig = Rig::with(process(""));
    let instance = rig.create("p", "{}");
    let task = rig.user_task();
    rig.ban(instance).unwrap();
    assert_eq!(rejected(rig.complete_task(task, "{}")).0, "INVALID_STATE");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_task_of_the_older_form_is_a_job() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .element("userTask", "ask")
        .extension(
            r#"<zeebe:assignmentDefinition assignee="=who" candidateGroups="a,&quot;b"/>
               <zeebe:taskSchedule dueDate="2031-05-06T07:08:09Z"/>
               <zeebe:formDefinition formKey="camunda-forms:bpmn:f1"/>
               <zeebe:taskHeaders><zeebe:header key="color" value="red"/></zeebe:taskHeaders>"#,
        )
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"who":"anna"}"#);
    assert!(life(&rig).is_empty());
    let job = rig.job("io.camunda.zeebe:userTask");
    assert_eq!(job.retries, 1);
    let headers: serde_json::Value = serde_json::from_str(&job.custom_headers).unwrap();
    let expected = serde_json::json!({
        "color": "red",
        "io.camunda.zeebe:assignee": "anna",
        "io.camunda.zeebe:candidateGroups": r#"["a","\"b"]"#,
        "io.camunda.zeebe:dueDate": "2031-05-06T07:08:09Z",
        "io.camunda.zeebe:formKey": "camunda-forms:bpmn:f1",
    });
    assert_eq!(headers, expected);
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn commands_for_an_unknown_task_are_refused() {
    let mut rig = Rig::new();
    let nothing = Key::new(1, 99);
    for answer in [
        rig.assign(nothing, "anna", ""),
        rig.claim(nothing, "anna"),
        rig.update_task(nothing, Corrections::default()),
        rig.complete_task(nothing, "{}"),
    ] {
        let (kind, reason) = rejected(answer);
        assert_eq!(kind, "NOT_FOUND");
        assert!(reason.contains(&nothing.to_string()), "{reason}");
    }
}
