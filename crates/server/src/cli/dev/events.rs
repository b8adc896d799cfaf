//! What a record tells to who develops a process.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// A line about a record, if it is one of those that tell what happens.
pub fn line(record: &Value) -> Option<String> {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    if text("recordType") == "COMMAND_REJECTION" {
        let what = text("valueType").to_lowercase().replace('_', " ");
        return Some(at(
            record,
            &format!(
                "refused: {what} {}: {}",
                text("intent").to_lowercase(),
                text("rejectionReason")
            ),
        ));
    }
    if text("recordType") != "EVENT" {
        return None;
    }
    let value = &record["value"];
    let word = |name: &str| match &value[name] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let instance = word("processInstanceKey");
    let said = match (text("valueType"), text("intent")) {
        ("PROCESS", "CREATED") => format!(
            "deployed process {}, version {}",
            word("bpmnProcessId"),
            word("version")
        ),
        ("DECISION", "CREATED") => format!(
            "deployed decision {}, version {}",
            word("decisionId"),
            word("version")
        ),
        ("FORM", "CREATED") => format!(
            "deployed form {}, version {}",
            word("formId"),
            word("version")
        ),
        ("PROCESS_INSTANCE", "ELEMENT_ACTIVATED") => element(value, "began")?,
        ("PROCESS_INSTANCE", "ELEMENT_COMPLETED") => element(value, "completed")?,
        ("PROCESS_INSTANCE", "ELEMENT_TERMINATED") => element(value, "terminated")?,
        ("JOB", "CREATED") => format!(
            "{instance}  job {} of type '{}' for {}",
            record["key"],
            word("type"),
            word("elementId")
        ),
        ("JOB", "FAILED") => format!(
            "{instance}  job {} failed, {} retries left: {}",
            record["key"],
            word("retries"),
            word("errorMessage")
        ),
        ("JOB", "ERROR_THROWN") => format!(
            "{instance}  job {} threw the error '{}': {}",
            record["key"],
            word("errorCode"),
            word("errorMessage")
        ),
        ("INCIDENT", "CREATED") => format!(
            "{instance}  INCIDENT {} at {}: {}: {}",
            record["key"],
            word("elementId"),
            word("errorType"),
            word("errorMessage")
        ),
        ("INCIDENT", "RESOLVED") => format!("{instance}  incident {} resolved", record["key"]),
        ("VARIABLE", "CREATED" | "UPDATED") => {
            format!("{instance}  {} = {}", word("name"), short(&word("value")))
        }
        ("MESSAGE", "PUBLISHED") => format!(
            "message '{}' with the key '{}'",
            word("name"),
            word("correlationKey")
        ),
        ("SIGNAL", "BROADCASTED") => format!("signal '{}'", word("signalName")),
        ("TIMER", "TRIGGERED") => {
            format!("{instance}  timer of {} was due", word("targetElementId"))
        }
        _ => return None,
    };
    Some(at(record, &said))
}

/// An element of an instance; its sequence flows are left out.
fn element(value: &Value, what: &str) -> Option<String> {
    let word = |name: &str| value[name].as_str().unwrap_or_default();
    let kind = word("bpmnElementType");
    let instance = &value["processInstanceKey"];
    match kind {
        "SEQUENCE_FLOW" => None,
        "PROCESS" => Some(format!(
            "{instance}  process {} {what}",
            word("bpmnProcessId")
        )),
        kind => Some(format!(
            "{instance}  {} ({}) {what}",
            word("elementId"),
            kind.to_lowercase().replace('_', " ")
        )),
    }
}

const MOST: usize = 100;

fn short(text: &str) -> String {
    match text.chars().count() > MOST {
        true => text.chars().take(MOST).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// With the time of day.
fn at(record: &Value, said: &str) -> String {
    let millis = record["timestamp"].as_i64().unwrap_or_default();
    let time = Timestamp::from_millisecond(millis).unwrap_or_default();
    let time = time.to_zoned(TimeZone::system());
    format!("{}  {said}\n", time.strftime("%H:%M:%S%.3f"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_happens_is_told_and_what_is_asked_for_is_not() {
        let record = |kind: &str, value_type: &str, intent: &str, value: Value| {
            line(
                &json!({"recordType": kind, "valueType": value_type, "intent": intent, "key": 9, "timestamp": 0, "rejectionReason": "no", "value": value}),
            )
        };
        let task = json!({"processInstanceKey": 7, "elementId": "pay", "bpmnElementType": "SERVICE_TASK", "bpmnProcessId": "order"});
        let began = record(
            "EVENT",
            "PROCESS_INSTANCE",
            "ELEMENT_ACTIVATED",
            task.clone(),
        )
        .unwrap();
        assert!(
            began.ends_with("  7  pay (service task) began\n"),
            "{began}"
        );
        assert_eq!(
            record("COMMAND", "PROCESS_INSTANCE", "ELEMENT_ACTIVATED", task),
            None
        );
        let flow = json!({"bpmnElementType": "SEQUENCE_FLOW"});
        assert_eq!(
            record("EVENT", "PROCESS_INSTANCE", "ELEMENT_COMPLETED", flow),
            None
        );
        let refused = record("COMMAND_REJECTION", "JOB", "COMPLETE", json!({})).unwrap();
        assert!(
            refused.ends_with("  refused: job complete: no\n"),
            "{refused}"
        );
        let long = json!({"processInstanceKey": 7, "name": "a", "value": "1".repeat(200)});
        let variable = record("EVENT", "VARIABLE", "CREATED", long).unwrap();
        assert!(
            variable.ends_with("1…\n") && variable.len() < 150,
            "{variable}"
        );
    }
}
