//! Models that stand in for a child process or a decision, with the results that a test case gives.

use std::fmt::Write as _;

use serde_json::Value;
use skep_client::Resource;

use super::value::{Variables, parsed};

/// A process that ends at once with these variables.
pub fn process(id: &str, variables: Option<&Variables>) -> Resource {
    let mut outputs = String::new();
    for (name, value) in variables.iter().flat_map(|variables| &variables.0) {
        let source = skep_xml::escape(&format!("={}", feel(&parsed(value.get()))));
        let target = skep_xml::escape(name);
        let _ = write!(
            outputs,
            "<zeebe:output source=\"{source}\" target=\"{target}\"/>"
        );
    }
    let id = skep_xml::escape(id);
    let text = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="skep-test">
  <bpmn:process id="{id}" name="{id}, mocked" isExecutable="true">
    <bpmn:startEvent id="mock-start"><bpmn:outgoing>mock-flow</bpmn:outgoing></bpmn:startEvent>
    <bpmn:sequenceFlow id="mock-flow" sourceRef="mock-start" targetRef="mock-end"/>
    <bpmn:endEvent id="mock-end"><bpmn:extensionElements><zeebe:ioMapping>{outputs}</zeebe:ioMapping></bpmn:extensionElements><bpmn:incoming>mock-flow</bpmn:incoming></bpmn:endEvent>
  </bpmn:process>
</bpmn:definitions>
"#
    );
    Resource {
        name: "mocked-process.bpmn".into(),
        content: text.into(),
    }
}

/// A decision whose output is these variables, as one value.
pub fn decision(id: &str, variables: Option<&Variables>) -> Resource {
    let each = variables.iter().flat_map(|variables| &variables.0);
    let output = each.map(|(name, value)| (name.clone(), parsed(value.get())));
    let text = skep_xml::escape(&feel(&Value::Object(output.collect())));
    let id = skep_xml::escape(id);
    let text = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="{id}-mocked" name="{id}, mocked" namespace="skep-test">
  <decision id="{id}" name="{id}">
    <variable name="output"/>
    <literalExpression><text>{text}</text></literalExpression>
  </decision>
</definitions>
"#
    );
    Resource {
        name: "mocked-decision.dmn".into(),
        content: text.into(),
    }
}

/// A JSON value as a FEEL literal.
fn feel(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(feel).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(name, value)| format!("{}: {}", text(name), feel(value)));
            let entries: Vec<String> = entries.collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::String(string) => text(string),
        // FEEL has no exponents.
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            format!("{number}")
        }
        other => other.to_string(),
    }
}

fn text(string: &str) -> String {
    let mut text = String::from("\"");
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skep_engine::Prepared;
    use skep_protocol::command::{Command, Deploy};

    use super::*;

    fn refusal(resource: Resource) -> Option<String> {
        let resource = skep_protocol::command::Resource {
            name: resource.name,
            content: resource.content,
        };
        let deploy = Command::Deploy(Deploy {
            resources: vec![resource],
        });
        let prepared = Prepared::of_command(&deploy).expect("is prepared");
        prepared.refusal().map(|refusal| refusal.reason.to_string())
    }

    #[test]
    fn mocks_of_all_kinds_of_values_can_be_deployed() {
        let text = r#"{"n": 1.5e-7, "big": 12345678901234567890, "s": "a \"<&>\" \\ \n é \u0007", "l": [1, [], {}],
            "c": {"a b": null, "x": true}}"#;
        let variables: Variables = serde_json::from_str(text).unwrap();
        for variables in [None, Some(&variables)] {
            assert_eq!(refusal(process("child", variables)), None);
            assert_eq!(refusal(decision("rate", variables)), None);
        }
    }

    #[test]
    fn json_is_written_as_feel() {
        let value = json!({"a": [1, 2.5, 1e21, 1e-7], "b c": "x\"y", "n": null});
        assert_eq!(
            feel(&value),
            r#"{"a": [1, 2.5, 1000000000000000000000, 0.0000001], "b c": "x\"y", "n": null}"#
        );
    }
}
