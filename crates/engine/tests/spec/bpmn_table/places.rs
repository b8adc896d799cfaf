//! Positions of extension elements: models around them, each a process `p` with the element `x`.

use super::between;

pub(super) fn element(tag: &str, extensions: &str) -> String {
    between(&format!(
        r#"<bpmn:{tag} id="x"><bpmn:extensionElements>{extensions}</bpmn:extensionElements></bpmn:{tag}>"#
    ))
}

pub(super) fn service_task(extension: &str) -> String {
    element("serviceTask", extension)
}

pub(super) fn service(extension: &str) -> String {
    service_task(&format!(
        r#"<zeebe:taskDefinition type="work"/>{extension}"#
    ))
}

pub(super) fn header(attributes: &str) -> String {
    service(&format!(
        "<zeebe:taskHeaders><zeebe:header {attributes}/></zeebe:taskHeaders>"
    ))
}

pub(super) fn mapping(mapping: &str) -> String {
    service(&format!("<zeebe:ioMapping>{mapping}</zeebe:ioMapping>"))
}

pub(super) fn linked(attributes: &str) -> String {
    service(&format!(
        r#"<zeebe:linkedResources><zeebe:linkedResource resourceType="RPA" {attributes}/></zeebe:linkedResources>"#
    ))
}

pub(super) fn linked_type(attributes: &str) -> String {
    linked(attributes).replacen(r#" resourceType="RPA""#, "", 1)
}

pub(super) fn message(subscription: &str) -> String {
    let message = format!(
        r#"<bpmn:message id="g" name="m"><bpmn:extensionElements>{subscription}</bpmn:extensionElements></bpmn:message>"#
    );
    let x = r#"<bpmn:intermediateCatchEvent id="x"><bpmn:messageEventDefinition messageRef="g"/></bpmn:intermediateCatchEvent>"#;
    message + &between(x)
}

pub(super) fn send(extension: &str) -> String {
    let task = element("sendTask", extension).replace(
        r#"<bpmn:sendTask id="x""#,
        r#"<bpmn:sendTask id="x" messageRef="g""#,
    );
    format!(r#"<bpmn:message id="g" name="m"/>{task}"#)
}

pub(super) fn condition(extension: &str) -> String {
    between(&format!(
        r#"<bpmn:intermediateCatchEvent id="x"><bpmn:conditionalEventDefinition><bpmn:extensionElements>{extension}</bpmn:extensionElements><bpmn:condition>=b = 3</bpmn:condition></bpmn:conditionalEventDefinition></bpmn:intermediateCatchEvent>"#
    ))
}

pub(super) fn repeated(extension: &str) -> String {
    let marker = format!(
        "<bpmn:multiInstanceLoopCharacteristics><bpmn:extensionElements>{extension}</bpmn:extensionElements></bpmn:multiInstanceLoopCharacteristics>"
    );
    script(r#"<zeebe:script expression="=i" resultVariable="r"/>"#)
        .replace("</bpmn:scriptTask>", &format!("{marker}</bpmn:scriptTask>"))
}

pub(super) fn script(extension: &str) -> String {
    element("scriptTask", extension)
}

pub(super) fn call(extension: &str) -> String {
    element("callActivity", extension)
}

pub(super) fn decide(extension: &str) -> String {
    element("businessRuleTask", extension)
}

pub(super) fn ad_hoc(extension: &str) -> String {
    element("adHocSubProcess", extension).replace(
        "</bpmn:adHocSubProcess>",
        r#"<bpmn:task id="t"/></bpmn:adHocSubProcess>"#,
    )
}

pub(super) fn user(extension: &str) -> String {
    element("userTask", &format!("<zeebe:userTask/>{extension}"))
}

pub(super) fn user_job(extension: &str) -> String {
    element("userTask", extension)
}

pub(super) fn process(extensions: &str) -> String {
    let p = between(r#"<bpmn:task id="x"/>"#);
    p.replacen(
        "><",
        &format!("><bpmn:extensionElements>{extensions}</bpmn:extensionElements><"),
        1,
    )
}

pub(super) fn execution(attributes: &str) -> String {
    service(&format!(
        "<zeebe:executionListeners><zeebe:executionListener {attributes}/></zeebe:executionListeners>"
    ))
}

pub(super) fn of_task(attributes: &str) -> String {
    user(&format!(
        "<zeebe:taskListeners><zeebe:taskListener {attributes}/></zeebe:taskListeners>"
    ))
}
