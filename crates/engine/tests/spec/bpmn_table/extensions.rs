//! Extension elements, attribute by attribute: missing required attributes are refused, so is static text where an expression is required,
//! and each attribute has its effect, static or by expression.

use super::places::*;
use super::*;

/// A record that shows the effect: value type, intent, field, and value of the field.
type Shows = (&'static str, &'static str, &'static str, &'static str);

/// One attribute of an extension element. The attribute replaces `§` in the extension, and the extension replaces `§` in a model, a process
/// `p` with the element `x`.
struct Case {
    of: &'static str,
    attribute: &'static str,
    place: Placement,
    extension: &'static str,
    /// A static value, and an expression with the same result; empty where the table does not allow it.
    values: [&'static str; 2],
    shows: Option<Shows>,
}

type Placement = fn(&str) -> String;

const fn case(
    of: &'static str,
    attribute: &'static str,
    place: Placement,
    extension: &'static str,
    values: [&'static str; 2],
    shows: Shows,
) -> Case {
    Case {
        of,
        attribute,
        place,
        extension,
        values,
        shows: Some(shows),
    }
}

/// A case whose effect no record shows: the instance completes.
const fn quiet(
    of: &'static str,
    attribute: &'static str,
    place: Placement,
    extension: &'static str,
    value: &'static str,
) -> Case {
    Case {
        of,
        attribute,
        place,
        extension,
        values: [value, ""],
        shows: None,
    }
}

const fn variable(name: &'static str) -> Shows {
    ("VARIABLE", "CREATED", "name", name)
}

const fn job(field: &'static str, says: &'static str) -> Shows {
    ("JOB", "CREATED", field, says)
}

const fn task(field: &'static str, says: &'static str) -> Shows {
    ("USER_TASK", "CREATED", field, says)
}

const fn incident(error_type: &'static str) -> Shows {
    ("INCIDENT", "CREATED", "errorType", error_type)
}

const CALLED: Shows = (
    "PROCESS_INSTANCE",
    "ELEMENT_COMPLETED",
    "bpmnProcessId",
    "called",
);
const DECIDED: Shows = ("DECISION_EVALUATION", "EVALUATED", "decisionOutput", "2");
const LATEST: [&str; 2] = ["latest", ""];
const DATE: &str = "2031-05-05T07:08:09Z";
const DATES: [&str; 2] = [DATE, "=&quot;2031-05-05T07:08:09Z&quot;"];
const NAMES: [&str; 2] = ["a, c", "=[&quot;a&quot;, &quot;c&quot;]"];

#[rustfmt::skip] // One line, one attribute.
const CASES: &[Case] = &[
    case("taskDefinition", "type", service_task, "<zeebe:taskDefinition §/>", ["work", "=&quot;wo&quot; + &quot;rk&quot;"], job("type", "work")),
    case("taskDefinition", "retries", service_task, r#"<zeebe:taskDefinition type="work" §/>"#, ["5", "=2 + 3"], job("retries", "5")),
    case("taskHeaders", "key", header, r#"value="v" §"#, ["k", ""], job("customHeaders", r#"{"k":"v"}"#)),
    case("taskHeaders", "value", header, r#"key="k" §"#, ["v", ""], job("customHeaders", r#"{"k":"v"}"#)),
    case("ioMapping", "source", mapping, r#"<zeebe:input § target="y"/>"#, ["1", "=0 + 1"], variable("y")),
    case("ioMapping", "target", mapping, r#"<zeebe:input source="=b" §/>"#, ["y", ""], variable("y")),
    case("ioMapping output", "source", mapping, r#"<zeebe:output § target="y"/>"#, ["", "=b"], variable("y")),
    case("ioMapping output", "target", mapping, r#"<zeebe:output source="=b" §/>"#, ["y", ""], variable("y")),
    case("linkedResources", "resourceId", linked, r#"§ linkName="l""#, ["r", ""], job("customHeaders", "resourceKey")),
    case("linkedResources", "resourceType", linked_type, r#"resourceId="r" §"#, ["RPA", ""], job("customHeaders", "RPA")),
    case("linkedResources", "linkName", linked, r#"resourceId="r" §"#, ["l", ""], job("customHeaders", "linkName")),
    case("linkedResources", "bindingType", linked, r#"resourceId="r" §"#, LATEST, job("customHeaders", "resourceKey")),
    quiet("linkedResources", "versionTag", linked, r#"resourceId="r" bindingType="versionTag" §"#, "tag"),
    quiet("jobPriorityDefinition (8.10)", "priority", service, "<zeebe:jobPriorityDefinition §/>", "7"),
    quiet("agentDefinition (8.10)", "agentType", service, "<zeebe:agentDefinition §/>", "a"),
    case("subscription", "correlationKey", message, "<zeebe:subscription §/>", ["", "=&quot;k&quot;"], ("PROCESS_MESSAGE_SUBSCRIPTION", "CREATED", "correlationKey", "k")),
    case("publishMessage", "correlationKey", send, "<zeebe:publishMessage §/>", ["k", "=&quot;k&quot;"], incident("UNKNOWN")),
    case("publishMessage", "messageId", send, r#"<zeebe:publishMessage correlationKey="k" §/>"#, ["i", "=&quot;i&quot;"], incident("UNKNOWN")),
    case("publishMessage", "timeToLive", send, r#"<zeebe:publishMessage correlationKey="k" §/>"#, ["PT1M", "=&quot;PT1M&quot;"], incident("UNKNOWN")),
    quiet("conditionalFilter (8.9+)", "variableNames", condition, "<zeebe:conditionalFilter §/>", "a, b"),
    quiet("conditionalFilter (8.9+)", "variableEvents", condition, "<zeebe:conditionalFilter §/>", "update"),
    case("loopCharacteristics", "inputCollection", repeated, r#"<zeebe:loopCharacteristics § inputElement="i"/>"#, ["", "=[7]"], variable("i")),
    case("loopCharacteristics", "inputElement", repeated, r#"<zeebe:loopCharacteristics inputCollection="=list" §/>"#, ["i", ""], variable("i")),
    case("loopCharacteristics", "outputCollection", repeated, r#"<zeebe:loopCharacteristics inputCollection="=list" inputElement="i" § outputElement="=i"/>"#, ["o", ""], variable("o")),
    case("loopCharacteristics", "outputElement", repeated, r#"<zeebe:loopCharacteristics inputCollection="=list" inputElement="i" outputCollection="o" §/>"#, ["", "=i"], variable("o")),
    case("calledElement", "processId", call, "<zeebe:calledElement §/>", ["called", "=&quot;called&quot;"], CALLED),
    case("calledElement", "propagateAllChildVariables", call, r#"<zeebe:calledElement processId="called" §/>"#, ["false", ""], CALLED),
    case("calledElement", "propagateAllParentVariables", call, r#"<zeebe:calledElement processId="called" §/>"#, ["false", ""], CALLED),
    case("calledElement", "bindingType", call, r#"<zeebe:calledElement processId="called" §/>"#, LATEST, CALLED),
    case("calledElement", "versionTag", call, r#"<zeebe:calledElement processId="called" bindingType="versionTag" §/>"#, ["t", ""], incident("CALLED_ELEMENT_ERROR")),
    quiet("calledElement", "businessId", call, r#"<zeebe:calledElement processId="called" §/>"#, "b"),
    quiet("calledElement", "processIdExpression", call, r#"<zeebe:calledElement processId="called" §/>"#, "other"),
    case("calledDecision", "decisionId", decide, r#"<zeebe:calledDecision § resultVariable="r"/>"#, ["d", "=&quot;d&quot;"], DECIDED),
    case("calledDecision", "resultVariable", decide, r#"<zeebe:calledDecision decisionId="d" §/>"#, ["r", ""], variable("r")),
    case("calledDecision", "bindingType", decide, r#"<zeebe:calledDecision decisionId="d" resultVariable="r" §/>"#, LATEST, DECIDED),
    case("calledDecision", "versionTag", decide, r#"<zeebe:calledDecision decisionId="d" resultVariable="r" bindingType="versionTag" §/>"#, ["t", ""], incident("CALLED_DECISION_ERROR")),
    case("script", "expression", script, r#"<zeebe:script § resultVariable="r"/>"#, ["", "=1"], variable("r")),
    case("script", "resultVariable", script, r#"<zeebe:script expression="=1" §/>"#, ["r", ""], variable("r")),
    case("adHoc", "activeElementsCollection", ad_hoc, "<zeebe:adHoc §/>", ["", "=[&quot;t&quot;]"], ("PROCESS_INSTANCE", "ELEMENT_COMPLETED", "elementId", "t")),
    case("adHoc", "outputCollection", ad_hoc, r#"<zeebe:adHoc activeElementsCollection="=[&quot;t&quot;]" § outputElement="=b"/>"#, ["o", ""], variable("o")),
    case("adHoc", "outputElement", ad_hoc, r#"<zeebe:adHoc activeElementsCollection="=[&quot;t&quot;]" outputCollection="o" §/>"#, ["", "=b"], variable("o")),
    Case { of: "userTask", attribute: "", place: user, extension: "", values: ["", ""], shows: Some(task("priority", "50")) },
    quiet("formDefinition", "formId", user, "<zeebe:formDefinition §/>", "f"),
    case("formDefinition", "formKey", user_job, "<zeebe:formDefinition §/>", ["k", "=&quot;k&quot;"], job("customHeaders", r#"formKey":"k"#)),
    case("formDefinition", "externalReference", user, "<zeebe:formDefinition §/>", ["r", "=&quot;r&quot;"], task("externalFormReference", "r")),
    quiet("formDefinition", "bindingType", user, r#"<zeebe:formDefinition formId="f" §/>"#, "latest"),
    case("formDefinition", "versionTag", user, r#"<zeebe:formDefinition formId="f" bindingType="versionTag" §/>"#, ["t", ""], incident("FORM_NOT_FOUND")),
    quiet("userTaskForm", "id", process, "<zeebe:userTaskForm §>{}</zeebe:userTaskForm>", "embedded"),
    case("assignmentDefinition", "assignee", user, "<zeebe:assignmentDefinition §/>", ["anna", "=&quot;anna&quot;"], ("USER_TASK", "ASSIGNED", "assignee", "anna")),
    case("assignmentDefinition", "candidateGroups", user, "<zeebe:assignmentDefinition §/>", NAMES, task("candidateGroupsList", r#"["a","c"]"#)),
    case("assignmentDefinition", "candidateUsers", user, "<zeebe:assignmentDefinition §/>", NAMES, task("candidateUsersList", r#"["a","c"]"#)),
    case("taskSchedule", "dueDate", user, "<zeebe:taskSchedule §/>", DATES, task("dueDate", DATE)),
    case("taskSchedule", "followUpDate", user, "<zeebe:taskSchedule §/>", DATES, task("followUpDate", DATE)),
    case("priorityDefinition", "priority", user, "<zeebe:priorityDefinition §/>", ["60", "=60"], task("priority", "60")),
    case("executionListeners", "eventType", execution, r#"§ type="ear""#, ["start", ""], job("jobListenerEventType", "START")),
    case("executionListeners", "type", execution, r#"eventType="end" §"#, ["ear", "=&quot;ear&quot;"], job("type", "ear")),
    case("executionListeners", "retries", execution, r#"eventType="end" type="ear" §"#, ["4", "=4"], job("retries", "4")),
    quiet("executionListeners", "headers", service, r#"<zeebe:executionListeners><zeebe:executionListener eventType="end" type="ear"><zeebe:headers/></zeebe:executionListener></zeebe:executionListeners>"#, ""),
    case("taskListeners", "eventType", of_task, r#"§ type="ear""#, ["creating", ""], job("jobListenerEventType", "CREATING")),
    case("taskListeners", "type", of_task, r#"eventType="completing" §"#, ["ear", "=&quot;ear&quot;"], job("type", "ear")),
    case("taskListeners", "retries", of_task, r#"eventType="completing" type="ear" §"#, ["4", "=4"], job("retries", "4")),
    case("versionTag", "value", process, "<zeebe:versionTag §/>", ["v1", ""], ("PROCESS", "CREATED", "versionTag", "v1")),
    quiet("properties", "name", process, r#"<zeebe:properties><zeebe:property § value="v"/></zeebe:properties>"#, "n"),
    quiet("properties", "value", process, r#"<zeebe:properties><zeebe:property name="n" §/></zeebe:properties>"#, "v"),
];

/// Extension element, attribute, and the cells "Expr" and "Need" of each row. A cell may name several attributes or, marked with a star,
/// the child element with the attributes.
fn rows() -> Vec<(String, String, String, String)> {
    let mut rows = Vec::new();
    let mut child = "";
    let table = table("## 2. Extension elements");
    for row in &table {
        let of = row[0].replace('`', "");
        if row[2].contains("output*") {
            child = " output";
        } else if row[2].contains("input*") || of != "ioMapping" {
            child = "";
        }
        let quoted = quoted(&row[2]).into_iter();
        let attributes: Vec<&str> = quoted.filter(|name| !name.ends_with('*')).collect();
        let attributes = if attributes.is_empty() {
            vec![""]
        } else {
            attributes
        };
        for attribute in attributes {
            rows.push((
                format!("{of}{child}"),
                attribute.to_string(),
                row[3].clone(),
                row[4].clone(),
            ));
        }
    }
    rows
}

#[test]
fn every_extension_does_what_the_table_says() {
    let rows = rows();
    assert_walked(
        rows.iter()
            .map(|(of, attribute, ..)| format!("{of} {attribute}")),
        CASES
            .iter()
            .map(|case| format!("{} {}", case.of, case.attribute)),
    );
    for (of, attribute, expression, need) in &rows {
        let mut of_row = CASES
            .iter()
            .filter(|case| case.of == of && case.attribute == attribute);
        let case = of_row.next().expect("the case was found before");
        let named = format!("{of} {attribute}");
        takes_its_values(case, &named);
        // "required non-empty" has a default. The recorded `deployment-check/listeners` applies it to empty values, too.
        if need.starts_with("required") && need != "required non-empty" {
            assert_refused(&model(case, ""), "", &named);
        }
        if expression.starts_with('E') {
            assert_refused(&with(case, "text"), "", &named);
        }
        // Attributes that may be static or expressions are tried as both.
        let both = case.values.iter().all(|value| !value.is_empty());
        assert!(expression != "S" || both || case.shows.is_none(), "{named}");
    }
}

fn with(case: &Case, value: &str) -> String {
    model(case, &format!("{}=\"{value}\"", case.attribute))
}

fn model(case: &Case, attribute: &str) -> String {
    file(&(case.place)(&case.extension.replace('§', attribute)))
}

fn takes_its_values(case: &Case, named: &str) {
    for value in case
        .values
        .iter()
        .filter(|value| !value.is_empty() || case.attribute.is_empty())
    {
        let Some((value_type, intent, field, says)) = case.shows else {
            drop(played_or_waits(&with(case, value), named));
            continue;
        };
        let rig = played_or_waits(&with(case, value), named);
        let mut events = rig.events(value_type).filter(|r| r.intent == intent);
        let shown = events.any(|r| r.field(field).to_string().replace('\\', "").contains(says));
        assert!(
            shown,
            "{named}: no {value_type} {intent} whose {field} says {says}"
        );
    }
}

/// Plays the model; instances with a permanent incident, as the table expects, are cancelled.
fn played_or_waits(model: &str, named: &str) -> Rig {
    let mut rig = deployed(model, named);
    let instance = rig.create("p", r#"{"b":0,"list":[1,2]}"#);
    let left = rig.play(VARIABLES, 5);
    if !left.is_empty() {
        assert!(
            !rig.incidents().is_empty(),
            "{named} waits: {:#?}",
            rig.life(instance)
        );
        rig.cancel(instance).unwrap();
    }
    rig.assert_nothing_left();
    rig
}
