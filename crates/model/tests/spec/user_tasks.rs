//! User tasks: what can be said of them, and what not.

use skep_model::builder::Bpmn;
use skep_model::{ElementKind, FormReference, TaskListenerEvent, TextList, UserTask};

use crate::support::*;

fn native(extension: &str) -> Bpmn {
    around(|p| p.user_task("t").extension(extension))
}

/// One that is a job.
fn job(extension: &str) -> Bpmn {
    around(|p| p.element("userTask", "t").extension(extension))
}

#[track_caller]
fn read(bpmn: Bpmn, look: impl FnOnce(&UserTask)) {
    let process = accepted(bpmn);
    let index = process.find("t").expect("t");
    match &process.element(index).kind {
        ElementKind::UserTask(task) => look(task),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_needs_to_say_nothing() {
    read(job(""), |task| assert!(task.native.is_none()));
    read(native(""), |task| {
        let native = task.native.as_ref().expect("a Camunda user task");
        assert_eq!(native.priority.as_static(), Some("50"));
        assert!(task.assignee.is_none() && task.form.is_none());
    });
}

#[test]
fn empty_attributes_are_as_if_they_were_not_there() {
    let nothing = "<zeebe:assignmentDefinition assignee='' candidateGroups=' '/><zeebe:taskSchedule dueDate=''/>\
                   <zeebe:priorityDefinition priority=''/>";
    read(native(nothing), |task| {
        assert!(task.assignee.is_none() && task.candidate_groups.is_none());
        assert!(task.due_date.is_none());
    });
}

#[test]
fn candidates_are_a_list() {
    let listed = "<zeebe:assignmentDefinition candidateGroups='a, b ,' candidateUsers='=users'/>";
    read(native(listed), |task| {
        let Some(TextList::Static(groups)) = &task.candidate_groups else {
            panic!("{task:?}");
        };
        assert_eq!(groups.iter().map(|g| &**g).collect::<Vec<_>>(), ["a", "b"]);
        assert!(matches!(
            task.candidate_users,
            Some(TextList::Expression(_))
        ));
    });
    let broken = "<zeebe:assignmentDefinition candidateGroups='=1 +'/>";
    refused(native(broken), "t", "'candidateGroups'");
}

#[test]
fn dates_have_a_zone() {
    for date in ["2031-05-06T07:08:09Z", "2031-05-06T07:08:09+02:00", "=due"] {
        accepted(native(&format!("<zeebe:taskSchedule dueDate='{date}'/>")));
    }
    for date in ["2031-05-06", "2031-05-06T07:08:09", "tomorrow"] {
        let schedule = format!("<zeebe:taskSchedule followUpDate='{date}'/>");
        refused(native(&schedule), "t", "'followUpDate'");
    }
}

#[test]
fn the_priority_is_from_0_to_100() {
    for priority in ["0", "100", "=priority"] {
        accepted(native(&format!(
            "<zeebe:priorityDefinition priority='{priority}'/>"
        )));
    }
    for priority in ["-1", "101", "1.5", "high"] {
        let definition = format!("<zeebe:priorityDefinition priority='{priority}'/>");
        refused(native(&definition), "t", "from 0 to 100");
    }
}

#[test]
fn a_form_is_named_in_one_way() {
    let form = |attributes: &str| format!("<zeebe:formDefinition {attributes}/>");
    read(native(&form("externalReference='=form'")), |task| {
        assert!(matches!(task.form, Some(FormReference::External(_))));
    });
    read(job(&form("formKey='camunda-forms:bpmn:f1'")), |task| {
        assert!(matches!(task.form, Some(FormReference::Key(_))));
    });
    for (bpmn, says) in [
        (native(&form("formKey='f'")), "has none"),
        (job(&form("externalReference='f'")), "has none"),
        (
            native(&form("formId='f' externalReference='g'")),
            "has both",
        ),
        (job(&form("formId='f' formKey='g'")), "has both"),
        (
            native(&form("formId='f' bindingType='nearest'")),
            "'nearest'",
        ),
    ] {
        refused(bpmn, "t", says);
    }
}

#[test]
fn a_form_within_the_process_says_something() {
    let form = "<zeebe:userTaskForm id='f1'>{}</zeebe:userTaskForm>";
    accepted(native("").process_extension(form));
    let empty = "<zeebe:userTaskForm id='f1'> </zeebe:userTaskForm>";
    refused(native("").process_extension(empty), "p", "is empty");
}

#[test]
fn listeners_are_called_by_old_and_new_names() {
    let listener = |event: &str| format!("<zeebe:taskListener eventType='{event}' type='l'/>");
    let list = |events: &[&str]| {
        let listeners: String = events.iter().map(|event| listener(event)).collect();
        format!("<zeebe:taskListeners>{listeners}</zeebe:taskListeners>")
    };
    let all = [
        "create",
        "assigning",
        "update",
        "completing",
        "cancel",
        "cancel",
    ];
    read(native(&list(&all)), |task| {
        use TaskListenerEvent as Event;
        let listeners = &task.native.as_ref().expect("native").listeners;
        let events: Vec<_> = listeners.iter().map(|listener| listener.event).collect();
        let expected = [
            Event::Creating,
            Event::Assigning,
            Event::Updating,
            Event::Completing,
            Event::Canceling,
            Event::Canceling,
        ];
        assert_eq!(events, expected);
        assert_eq!(listeners[0].listener.retries.as_static(), Some("3"));
    });
    refused(native(&list(&["started"])), "t", "'started'");
    refused(job(&list(&["create"])), "t", "need a Camunda user task");
    let without_type = "<zeebe:taskListeners><zeebe:taskListener eventType='create' type=''/></zeebe:taskListeners>";
    refused(native(without_type), "t", "'type'");
}

#[test]
fn extensions_of_it_mean_nothing_elsewhere() {
    let listeners = "<zeebe:taskListeners><zeebe:taskListener eventType='create' type='l'/></zeebe:taskListeners>";
    accepted(around(|p| p.task("t").extension("<zeebe:userTask/>")));
    accepted(around(|p| p.service_task("t", "work").extension(listeners)));
}
