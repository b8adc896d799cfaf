//! Renders log records for a developer of processes.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Sentences by value type and intent: {field} stands for a field of the event's value, {key} for its key.
const SENTENCES: [(&str, &str, &str); 13] = [
    (
        "PROCESS",
        "CREATED",
        "deployed process {bpmnProcessId}, version {version}",
    ),
    (
        "DECISION",
        "CREATED",
        "deployed decision {decisionId}, version {version}",
    ),
    (
        "FORM",
        "CREATED",
        "deployed form {formId}, version {version}",
    ),
    (
        "JOB",
        "CREATED",
        "{processInstanceKey}  job {key} of type '{type}' for {elementId}",
    ),
    (
        "JOB",
        "FAILED",
        "{processInstanceKey}  job {key} failed, {retries} retries left: {errorMessage}",
    ),
    (
        "JOB",
        "ERROR_THROWN",
        "{processInstanceKey}  job {key} threw the error '{errorCode}': {errorMessage}",
    ),
    (
        "INCIDENT",
        "CREATED",
        "{processInstanceKey}  INCIDENT {key} at {elementId}: {errorType}: {errorMessage}",
    ),
    (
        "INCIDENT",
        "RESOLVED",
        "{processInstanceKey}  incident {key} resolved",
    ),
    (
        "VARIABLE",
        "CREATED",
        "{processInstanceKey}  {name} = {value}",
    ),
    (
        "VARIABLE",
        "UPDATED",
        "{processInstanceKey}  {name} = {value}",
    ),
    (
        "MESSAGE",
        "PUBLISHED",
        "message '{name}' with the key '{correlationKey}'",
    ),
    ("SIGNAL", "BROADCASTED", "signal '{signalName}'"),
    (
        "TIMER",
        "TRIGGERED",
        "{processInstanceKey}  timer of {targetElementId} triggered",
    ),
];

/// Renders a record as a line, if it is of interest.
pub fn line(record: &Value) -> Option<String> {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let (kind, intent) = (text("valueType"), text("intent"));
    let said = match (text("recordType"), kind, intent) {
        // The deploying command has reported it already.
        ("COMMAND_REJECTION", "DEPLOYMENT", _) => return None,
        ("COMMAND_REJECTION", ..) => format!(
            "refused: {} {}: {}",
            kind.to_lowercase().replace('_', " "),
            intent.to_lowercase(),
            text("rejectionReason")
        ),
        ("EVENT", "PROCESS_INSTANCE", "ELEMENT_ACTIVATED") => element(record, "began")?,
        ("EVENT", "PROCESS_INSTANCE", "ELEMENT_COMPLETED") => element(record, "completed")?,
        ("EVENT", "PROCESS_INSTANCE", "ELEMENT_TERMINATED") => element(record, "terminated")?,
        ("EVENT", ..) => {
            let mut known = SENTENCES.iter();
            let (.., sentence) = known.find(|known| (known.0, known.1) == (kind, intent))?;
            filled(sentence, record)
        }
        _ => return None,
    };
    Some(at(record, &said))
}

/// A sentence with its fields filled in.
fn filled(sentence: &str, record: &Value) -> String {
    let mut pieces = sentence.split('{');
    let mut text = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let (field, after) = piece.split_once('}').unwrap_or((piece, ""));
        let value = match field {
            "key" => record.get("key"),
            field => record.get("value").and_then(|value| value.get(field)),
        };
        text.push_str(&match value {
            Some(Value::String(value)) => short(value),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        });
        text.push_str(after);
    }
    text
}

/// An event of an element instance; sequence flows are left out.
fn element(record: &Value, what: &str) -> Option<String> {
    let value = &record["value"];
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
    if text.chars().count() > MOST {
        text.chars().take(MOST).chain(['…']).collect()
    } else {
        text.to_string()
    }
}

/// Prefixes the sentence with the time of day.
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
    fn events_are_shown_and_commands_are_not() {
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
        assert_eq!(
            record("COMMAND_REJECTION", "DEPLOYMENT", "CREATE", json!({})),
            None
        );
        let job = json!({"processInstanceKey": 7, "type": "pay", "elementId": "charge"});
        let created = record("EVENT", "JOB", "CREATED", job).unwrap();
        assert!(
            created.ends_with("  7  job 9 of type 'pay' for charge\n"),
            "{created}"
        );
        let long = json!({"processInstanceKey": 7, "name": "a", "value": "1".repeat(200)});
        let variable = record("EVENT", "VARIABLE", "CREATED", long).unwrap();
        assert!(
            variable.ends_with("1…\n") && variable.len() < 150,
            "{variable}"
        );
    }
}
