//! Script, business rule, send and user tasks.

use skep_model::builder::Bpmn;
use skep_model::*;

use crate::support::*;

#[test]
fn a_script_task_is_an_expression_or_a_job() {
    let process = accepted(around(|p| {
        p.script("x", "=a + 1", "r")
            .job_task("scriptTask", "y", "js")
    }));
    let ElementKind::ScriptTask(ScriptTask::Expression {
        expression: script,
        result_variable,
    }) = &element(&process, "x").kind
    else {
        panic!("an expression");
    };
    expression("a + 1", script);
    assert_eq!(&**result_variable, "r");
    assert!(element(&process, "x").job().is_none());
    let job = element(&process, "y").job().expect("a job");
    assert_eq!(job.job_type.as_static(), Some("js"));

    let both = "must have either 'zeebe:script' or 'zeebe:taskDefinition', but has";
    refused(around(|p| p.element("scriptTask", "x")), "x", both);
    let script = "<zeebe:script expression='=1' resultVariable='r'/>";
    refused(
        around(|p| p.job_task("scriptTask", "x", "js").extension(script)),
        "x",
        both,
    );
    refused(
        around(|p| p.script("x", "1", "r")),
        "x",
        "does not start with '='",
    );
    refused(
        around(|p| p.script("x", "=1", "")),
        "x",
        "'resultVariable' of 'zeebe:script' is missing",
    );
}

#[test]
fn a_business_rule_task_is_a_decision_or_a_job() {
    let process = accepted(around(|p| {
        let p = p.decision("x", "=which", "r");
        p.job_task("businessRuleTask", "y", "rules")
    }));
    let ElementKind::BusinessRuleTask(BusinessRuleTask::Decision(called)) =
        &element(&process, "x").kind
    else {
        panic!("a decision");
    };
    assert!(matches!(called.decision_id, TextValue::Expression(_)));
    assert_eq!(
        (&called.binding, &*called.result_variable),
        (&Binding::Latest, "r")
    );
    assert!(element(&process, "y").job().is_some());

    refused(
        around(|p| p.element("businessRuleTask", "x")),
        "x",
        "but has neither",
    );
    refused(
        around(|p| p.decision("x", "", "r")),
        "x",
        "'decisionId' of 'zeebe:calledDecision'",
    );
    refused(
        around(|p| p.decision("x", "d", "")),
        "x",
        "'resultVariable' of 'zeebe:calledDecision'",
    );
}

#[test]
fn a_send_task_is_a_job_or_publishes() {
    let message = "<bpmn:message id='m' name='go'/>";
    let publish = "<zeebe:publishMessage correlationKey='=k' messageId='1' timeToLive='PT1M'/>";
    let publishing = || {
        let task = around(|p| p.element("sendTask", "x").extension(publish));
        task.definition(message)
    };
    let process = accepted(around(|p| p.send_task("x", "mail").header("k", "v")));
    let job = element(&process, "x").job().expect("a job");
    assert_eq!(&*job.headers_json, r#"{"k":"v"}"#);
    refused(publishing(), "x", "references no message");
    let with_message = around(|p| {
        let task = p.element("sendTask", "x").extension(publish);
        task.attribute("messageRef", "m")
    });
    let process = accepted(with_message.definition(message));
    let kind = &element(&process, "x").kind;
    assert!(matches!(kind, ElementKind::SendTask(MessageThrow::Publish)));
    refused(
        around(|p| p.element("sendTask", "x")),
        "x",
        "must have exactly one",
    );
    refused(
        around(|p| p.send_task("x", "mail").extension(publish)),
        "x",
        "has both",
    );
}

fn user_task(process: &Process) -> &UserTask {
    match &element(process, "x").kind {
        ElementKind::UserTask(task) => task,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_user_task_has_assignment_schedule_priority_form_and_listeners() {
    let process = accepted(around(|p| {
        p.user_task("x")
            .extension("<zeebe:assignmentDefinition assignee='=who' candidateGroups='a, b ,' candidateUsers='=users'/>")
            .extension("<zeebe:taskSchedule dueDate='2026-10-01T12:00:00Z' followUpDate='=d'/>")
            .extension("<zeebe:priorityDefinition priority='=p'/>")
            .extension("<zeebe:formDefinition formId='f' bindingType='versionTag' versionTag='v1'/>")
            .header("k", "v")
            .task_listener("creating", "audit")
            .task_listener("complete", "audit")
    }));
    let task = user_task(&process);
    assert!(matches!(task.assignee, Some(TextValue::Expression(_))));
    let Some(TextList::Static(groups)) = &task.candidate_groups else {
        panic!("a list");
    };
    assert_eq!(groups.iter().map(|g| &**g).collect::<Vec<_>>(), ["a", "b"]);
    assert!(matches!(
        task.candidate_users,
        Some(TextList::Expression(_))
    ));
    let due_date = task.due_date.as_ref().and_then(TextValue::as_static);
    assert_eq!(due_date, Some("2026-10-01T12:00:00Z"));
    assert!(task.follow_up_date.is_some());
    let Some(FormReference::Id { id, binding }) = &task.form else {
        panic!("a form");
    };
    assert_eq!(
        (id.as_static(), binding),
        (Some("f"), &Binding::VersionTag("v1".into()))
    );
    assert_eq!(&*task.headers_json, r#"{"k":"v"}"#);
    let native = task.native.as_ref().expect("a Camunda user task");
    assert!(matches!(native.priority, TextValue::Expression(_)));
    let events: Vec<_> = native.listeners.iter().map(|l| l.event).collect();
    assert_eq!(
        events,
        [TaskListenerEvent::Creating, TaskListenerEvent::Completing]
    );
}

#[test]
fn a_plain_user_task_has_the_default_priority_or_is_a_job() {
    let process = accepted(around(|p| p.user_task("x")));
    let native = user_task(&process).native.as_ref().expect("native");
    assert_eq!(native.priority.as_static(), Some("50"));
    let process = accepted(around(|p| p.user_task_job("x")));
    assert!(user_task(&process).native.is_none());
}

#[test]
fn a_form_has_one_name() {
    let form = |attributes: &str, native: bool| {
        let form = format!("<zeebe:formDefinition {attributes}/>");
        around(|p| {
            if native {
                p.user_task("x").extension(&form)
            } else {
                p.user_task_job("x").extension(&form)
            }
        })
    };
    accepted(form("formId='f'", true));
    accepted(form("formId='f'", false));
    accepted(form("externalReference='e'", true));
    accepted(form("formKey='k'", false));
    let one = "must have either 'formId' or '";
    refused(form("formId='f' externalReference='e'", true), "x", one);
    refused(form("formId='f' formKey='k'", false), "x", one);
    refused(form("formKey='k'", true), "x", one);
    refused(form("", true), "x", one);
    refused(
        form("formId='f' bindingType='never'", true),
        "x",
        "'never' is not known",
    );
    let embedded = "<zeebe:userTaskForm id='f'> </zeebe:userTaskForm>";
    refused(task().process_extension(embedded), "p", "is empty");
    accepted(task().process_extension("<zeebe:userTaskForm id='f'>{}</zeebe:userTaskForm>"));
}

#[test]
fn constant_dates_and_priorities_are_checked() {
    let with = |extension: &str| around(|p| p.user_task("x").extension(extension));
    for date in ["tomorrow", "2026-10-01", "PT1H"] {
        refused(
            with(&format!("<zeebe:taskSchedule dueDate='{date}'/>")),
            "x",
            "is not valid",
        );
    }
    for priority in ["-1", "101", "high", "1.5"] {
        let priority = format!("<zeebe:priorityDefinition priority='{priority}'/>");
        refused(with(&priority), "x", "not a whole number from 0 to 100");
    }
    accepted(with("<zeebe:priorityDefinition priority='100'/>"));
}

#[test]
fn service_tasks_may_link_resources() {
    let linked = "<zeebe:linkedResources><zeebe:linkedResource resourceId='r' resourceType='RPA' linkName='l' bindingType='deployment'/></zeebe:linkedResources>";
    let process = accepted(around(|p| p.service_task("x", "work").extension(linked)));
    let job = element(&process, "x").job().expect("a job");
    let [resource] = &job.linked_resources[..] else {
        panic!("one resource");
    };
    assert_eq!(
        (&*resource.resource_id, &*resource.resource_type),
        ("r", "RPA")
    );
    assert_eq!(resource.binding, Binding::Deployment);
    let nameless =
        "<zeebe:linkedResources><zeebe:linkedResource resourceType='RPA'/></zeebe:linkedResources>";
    refused(
        around(|p| p.service_task("x", "work").extension(nameless)),
        "x",
        "'resourceId' of 'zeebe:linkedResource' is missing",
    );
}

#[test]
fn documentation_and_properties_are_kept() {
    let properties = "<zeebe:properties><zeebe:property name='kind' value='tool'/><zeebe:property value='lost'/></zeebe:properties>";
    let process = accepted(around(|p| {
        let task = p.service_task("x", "work").extension(properties);
        task.content("<bpmn:documentation>Does it.</bpmn:documentation>")
    }));
    let element = element(&process, "x");
    assert_eq!(element.documentation.as_deref(), Some("Does it."));
    assert_eq!(element.properties, [("kind".into(), "tool".into())]);
}

/// A loop that never waits never ends, whatever its elements.
#[test]
fn scripts_and_throw_events_do_not_wait() {
    let around_it: [fn(Bpmn) -> Bpmn; 3] = [
        |p| p.script("x", "=1", "r"),
        |p| p.throw_signal("x", "s"),
        |p| p.task("x").for_each("=[1]", "i"),
    ];
    for make in around_it {
        let bpmn = make(Bpmn::process("p").start("s").exclusive("g"));
        let bpmn = bpmn.exclusive("h").when("=a").to("g").from("h").otherwise();
        refused(bpmn.end("e"), "g", "has no element that waits");
    }
    let waits: [fn(Bpmn) -> Bpmn; 2] = [
        |p| p.throw_message("x", "mail"),
        |p| p.job_task("scriptTask", "x", "js"),
    ];
    for make in waits {
        let bpmn = make(Bpmn::process("p").start("s").exclusive("g"));
        let bpmn = bpmn.exclusive("h").when("=a").to("g").from("h").otherwise();
        accepted(bpmn.end("e"));
    }
}

#[test]
fn candidates_are_a_list_without_empty_places() {
    let with = |groups: &str| {
        around(|p| p.user_task("t")).xml().replace(
            "<zeebe:userTask/>",
            &format!("<zeebe:userTask/><zeebe:assignmentDefinition candidateGroups='{groups}'/>"),
        )
    };
    for groups in ["a", "a,b", "a, b ,"] {
        accepted_xml(&with(groups));
    }
    for groups in ["a,,b", ",a", ",", "a, ,b"] {
        refused_xml(&with(groups), Some("t"), "has an empty place");
    }
}
