//! Changes to a model, as text.

/// Ids of added elements begin with this.
pub const ADDED: &str = "added-";

/// Contents of boundary events.
pub const DISTANT_TIMER: &str = "<bpmn:timerEventDefinition><bpmn:timeDuration>P9999D</bpmn:timeDuration></bpmn:timerEventDefinition>";
pub const TIMER_OF_A_MINUTE: &str = "<bpmn:timerEventDefinition><bpmn:timeDuration>PT1M</bpmn:timeDuration></bpmn:timerEventDefinition>";
pub const FALSE_CONDITION: &str = "<bpmn:conditionalEventDefinition><bpmn:condition>=b = 99</bpmn:condition></bpmn:conditionalEventDefinition>";

const ACTIVITIES: [&str; 11] = [
    "serviceTask",
    "userTask",
    "task",
    "scriptTask",
    "businessRuleTask",
    "sendTask",
    "receiveTask",
    "manualTask",
    "subProcess",
    "adHocSubProcess",
    "callActivity",
];

/// The opening tags of all elements of this kind.
fn tags<'a>(xml: &'a str, kind: &str) -> Vec<&'a str> {
    let start = format!("<bpmn:{kind} ");
    let starts = xml.match_indices(&start).map(|(at, _)| at);
    let tags = starts.map(|at| {
        let length = xml[at..].find('>').expect("the tag ends");
        &xml[at..=at + length]
    });
    tags.collect()
}

fn id_of(tag: &str) -> &str {
    let (_, rest) = tag.split_once(" id=\"").expect("it has an id");
    rest.split('"').next().expect("the id ends")
}

/// Each activity gets an interrupting boundary event with this content.
pub fn with_boundary_events(xml: &str, content: &str) -> String {
    let mut out = xml.to_string();
    for tag in ACTIVITIES.iter().flat_map(|kind| tags(xml, kind)) {
        if tag.contains("triggeredByEvent=\"true\"") || tag.contains("isForCompensation=\"true\"") {
            continue;
        }
        let (id, added) = (id_of(tag), format!("{ADDED}{}", id_of(tag)));
        let event = format!(
            "<bpmn:boundaryEvent id=\"{added}\" attachedToRef=\"{id}\">\
             <bpmn:outgoing>{added}-flow</bpmn:outgoing>{content}</bpmn:boundaryEvent>\
             <bpmn:task id=\"{added}-task\"><bpmn:incoming>{added}-flow</bpmn:incoming></bpmn:task>\
             <bpmn:sequenceFlow id=\"{added}-flow\" sourceRef=\"{added}\" targetRef=\"{added}-task\"/>"
        );
        out = out.replace(tag, &format!("{event}{tag}"));
    }
    out
}

/// Each activity catches an error that nothing throws.
pub fn with_other_errors(xml: &str) -> String {
    let event = "<bpmn:errorEventDefinition errorRef=\"added-error\"/>";
    let error = "<bpmn:error id=\"added-error\" errorCode=\"added-error\"/></bpmn:definitions>";
    with_boundary_events(xml, event).replace("</bpmn:definitions>", error)
}

/// The content of the process moves into a sub-process.
pub fn in_a_sub_process(xml: &str) -> String {
    let tag = tags(xml, "process")[0];
    let added = format!("{ADDED}{}", id_of(tag));
    let before = format!(
        "{tag}<bpmn:startEvent id=\"{added}-start\"><bpmn:outgoing>{added}-in</bpmn:outgoing></bpmn:startEvent>\
         <bpmn:subProcess id=\"{added}\"><bpmn:incoming>{added}-in</bpmn:incoming><bpmn:outgoing>{added}-out</bpmn:outgoing>"
    );
    let after = format!(
        "</bpmn:subProcess><bpmn:endEvent id=\"{added}-end\"><bpmn:incoming>{added}-out</bpmn:incoming></bpmn:endEvent>\
         <bpmn:sequenceFlow id=\"{added}-in\" sourceRef=\"{added}-start\" targetRef=\"{added}\"/>\
         <bpmn:sequenceFlow id=\"{added}-out\" sourceRef=\"{added}\" targetRef=\"{added}-end\"/></bpmn:process>"
    );
    xml.replace(tag, &before).replace("</bpmn:process>", &after)
}
