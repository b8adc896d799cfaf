//! Records in the shape of `records.jsonl`: meaningless parts are left out, keys have names instead of numbers.
//!
//! The recorded symbols (`JOB1`) also count records that are not compared, so keys get new names on both sides: the kind of the entity and
//! its number within the kind.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use skep_testkit::rig::START;

const FIRST_KEY: i64 = 1 << 51;
const FIRST_TIME: i64 = 100_000_000_000;
const TIMES: [&str; 5] = ["deadline", "dueDate", "recurringTime", "time", "timestamp"];
const DROPPED: [&str; 16] = [
    "namespace",
    "evaluationFailureMessage",
    // New in 8.9; 8.8 was recorded.
    "decisionEvaluationInstanceKey",
    "checksum",
    "resource",
    "resources",
    "requestId",
    "requestStreamId",
    "partitionId",
    "partitionIds",
    "sourcePartitionId",
    "stacktrace",
    "exceptionMessage",
    "errorEventPosition",
    "tenantFilter",
    "creationTimestamp",
];
/// Lists in arbitrary order.
const SETS: [&str; 3] = [
    "/result/correctedAttributes",
    "/changedAttributes",
    "/items",
];
const PATHS: [&str; 3] = [
    "elementInstancePath",
    "processDefinitionPath",
    "callingElementPath",
];

/// A record in the form common to both sides.
#[derive(Clone, Debug)]
pub struct Entry {
    pub step: usize,
    pub record_type: String,
    pub value_type: String,
    pub intent: String,
    pub rejection_type: String,
    /// `#` and a symbol or number, later a name.
    pub key: String,
    pub value: Value,
}

impl Entry {
    pub fn line(&self) -> String {
        let Entry {
            step,
            key,
            value_type,
            intent,
            value,
            ..
        } = self;
        match self.record_type.as_str() {
            "EVENT" => format!("{step} {value_type} {intent} {key} {value}"),
            _ => format!(
                "{step} {value_type} {intent} REJECTED {} {key}",
                self.rejection_type
            ),
        }
    }

    fn is(&self, value_type: &str, intents: &[&str]) -> bool {
        self.value_type == value_type && (intents.is_empty() || intents.contains(&&*self.intent))
    }

    /// Messages and the message side of subscriptions live on their own partition: their order relative to events of instances is
    /// arbitrary.
    pub fn is_of_a_message(&self) -> bool {
        matches!(
            self.value_type.as_str(),
            "MESSAGE" | "MESSAGE_SUBSCRIPTION" | "MESSAGE_CORRELATION"
        )
    }

    /// False for internal steps of an engine that cannot be observed from outside, and for records that the recorder leaves out.
    fn is_compared(&self) -> bool {
        let left_out = self.record_type == "COMMAND"
            || self.is("PROCESS_EVENT", &[])
            || self.is("PROCESS_INSTANCE_BATCH", &[])
            || self.is("PROCESS_INSTANCE_RESULT", &[])
            || self.is("JOB_BATCH", &[])
            || self.is("ASYNC_REQUEST", &[])
            // New in 8.9; 8.8 was recorded.
            || self.is("PROCESS_INSTANCE", &["CANCELING"])
            || self.is("PROCESS_INSTANCE_MIGRATION", &["MIGRATING", "ABANDONED"])
            || self.is("PROCESS_INSTANCE_MODIFICATION", &["BEGUN", "PREPARED"])
            || self.is("MESSAGE_START_EVENT_SUBSCRIPTION", &["MIGRATED"])
            || self.is("COMMAND_DISTRIBUTION", &[])
            || self.is("CONTINUATION", &[])
            || self.is("BATCH_OPERATION_ITEM", &[])
            || self.is("BATCH_OPERATION_CHUNK", &["DELETED"])
            || self.is("BATCH_OPERATION_PARTITION_LIFECYCLE", &["PROGRESSED"])
            || self.is("PROCESS_MESSAGE_SUBSCRIPTION", &["CREATED", "DELETED"])
            || self.is(
                "PROCESS_INSTANCE",
                &["ACTIVATE_ELEMENT", "COMPLETE_ELEMENT"],
            );
        !left_out
    }
}

/// A recorded line.
pub fn recorded(line: &str) -> Entry {
    let mut record: Value = serde_json::from_str(line).expect("a line is a record");
    let text = |name: &str| record[name].as_str().unwrap_or("").to_string();
    let (record_type, value_type, intent) = (text("recordType"), text("valueType"), text("intent"));
    let key = text("key");
    Entry {
        step: record["step"].as_u64().unwrap_or(0) as usize,
        rejection_type: text("rejectionType"),
        key: if key.is_empty() {
            key
        } else {
            format!("#{key}")
        },
        value: in_no_order(mark_symbols(record["value"].take(), "")),
        record_type,
        value_type,
        intent,
    }
}

/// Steps hold mapping instructions as a map, whose order is arbitrary.
fn in_no_order(mut value: Value) -> Value {
    if let Some(instructions) = value["mappingInstructions"].as_array_mut() {
        instructions.sort_by_key(Value::to_string);
    }
    value
}

/// Puts `#` before the symbols of keys.
fn mark_symbols(value: Value, field: &str) -> Value {
    let names_a_key = (field.ends_with("Key") || field.ends_with("Keys") || PATHS.contains(&field))
        && field != "correlationKey";
    match value {
        Value::String(text) if field.ends_with(":formKey") && text.contains(':') => {
            Value::String(text)
        }
        Value::String(text) if names_a_key => Value::String(format!("#{text}")),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| mark_symbols(item, field));
            items.collect()
        }
        Value::Object(fields) if field != "variables" => {
            let fields = fields.into_iter().map(|(name, value)| {
                let value = mark_symbols(value, &name);
                (name, value)
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// A record written by Skep.
pub fn rendered(step: usize, record: &Value) -> Entry {
    let text = |name: &str| record[name].as_str().unwrap_or("").to_string();
    let value_type = text("valueType");
    let key = record["key"].as_i64().filter(|key| *key >= FIRST_KEY);
    let mut value = record["value"].clone();
    if value_type == "PROCESS_INSTANCE_MODIFICATION"
        && let Some(fields) = value.as_object_mut()
    {
        // New in 8.9; instructions have a field of the same name.
        fields.remove("elementInstanceKey");
    }
    let value = shorten(&value, "", &value_type);
    Entry {
        step,
        record_type: text("recordType"),
        intent: text("intent"),
        rejection_type: text("rejectionType"),
        key: key.map_or_else(String::new, |key| format!("#{key}")),
        value: in_no_order(value.unwrap_or_else(|| json!({}))),
        value_type,
    }
}

/// Whether the field is new since 8.8, which was recorded.
fn is_newer(field: &str, value_type: &str) -> bool {
    match field {
        "rootProcessInstanceKey" | "businessId" | "source" => true,
        "moveInstructions" => value_type == "PROCESS_INSTANCE_MODIFICATION",
        "elementInstanceKey" => matches!(
            value_type,
            "PROCESS_INSTANCE"
                | "VARIABLE"
                | "PROCESS_INSTANCE_CREATION"
                | "PROCESS_INSTANCE_MIGRATION"
        ),
        "processDefinitionKey" => matches!(
            value_type,
            "MESSAGE_SUBSCRIPTION"
                | "PROCESS_MESSAGE_SUBSCRIPTION"
                | "MESSAGE_CORRELATION"
                | "PROCESS_INSTANCE_MIGRATION"
                | "PROCESS_INSTANCE_MODIFICATION"
        ),
        "batchOperationKey" | "deleteHistory" | "resourceId" | "resourceType" => {
            value_type == "RESOURCE_DELETION"
        }
        "bpmnProcessId" => matches!(
            value_type,
            "PROCESS_INSTANCE_MIGRATION" | "PROCESS_INSTANCE_MODIFICATION"
        ),
        _ => false,
    }
}

/// Leaves out the same parts as the recorder. `None` if nothing remains.
fn shorten(value: &Value, field: &str, value_type: &str) -> Option<Value> {
    match value {
        Value::Object(fields) if field == "variables" => {
            (!fields.is_empty()).then(|| value.clone())
        }
        Value::Object(fields) => {
            let mut out = Map::new();
            for (name, value) in fields {
                // Decision requirements name their deployment since 8.9.
                let newer = name == "deploymentKey" && fields.contains_key("namespace");
                let drop = newer
                    || DROPPED.contains(&&**name)
                    || is_newer(name, value_type)
                    || (name == "errorMessage" && value_type == "INCIDENT")
                    || (name == "retryBackoff" && *value == json!(0))
                    || (name == "corrections" && fields["correctedAttributes"] == json!([]));
                if let Some(short) = shorten(value, name, value_type).filter(|_| !drop) {
                    out.insert(name.clone(), short);
                }
            }
            let is_empty_result = field == "result" && json!(out) == json!({"type": "USER_TASK"});
            (!out.is_empty() && !is_empty_result).then_some(Value::Object(out))
        }
        Value::Array(items) => {
            let items = items
                .iter()
                .map(|i| shorten(i, field, value_type).unwrap_or(Value::Null));
            let items: Vec<Value> = items.collect();
            (!items.is_empty() && items != [Value::Null]).then_some(Value::Array(items))
        }
        Value::Number(number) => match number.as_i64() {
            Some(-1) => None,
            Some(key) if key >= FIRST_KEY => Some(Value::String(format!("#{key}"))),
            Some(time) if time > FIRST_TIME && TIMES.contains(&field) => Some(moment(time)),
            _ => Some(value.clone()),
        },
        // Keys in headers are strings.
        Value::String(text) if field.ends_with("Key") && is_key(text) => {
            Some(Value::String(format!("#{text}")))
        }
        Value::String(text) => {
            let says_nothing = text.is_empty() || text == "UNSPECIFIED" || text == "<default>";
            (!says_nothing).then(|| value.clone())
        }
        Value::Bool(true) => Some(value.clone()),
        Value::Bool(false) | Value::Null => None,
    }
}

fn is_key(text: &str) -> bool {
    text.parse().is_ok_and(|key: i64| key >= FIRST_KEY)
}

/// Seconds since the scenario's start, rounded to five; a date when it is far away.
fn moment(time: i64) -> Value {
    const FAR: i64 = 40 * 86_400_000;
    let offset = time - START;
    if offset.abs() > FAR {
        return json!(date(time));
    }
    let seconds = 5 * ((offset as f64 / 5000.0).round() as i64);
    json!(format!("T+{seconds}s"))
}

/// `YYYY-MM-DDThh:mm:ssZ`, by the rule for the number of a day in the Gregorian calendar.
fn date(time: i64) -> String {
    let (days, seconds) = (
        time.div_euclid(86_400_000),
        time.rem_euclid(86_400_000) / 1000,
    );
    // Days since 0000-03-01: years begin in March, so that the leap day is a year's last.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = year_of_era + era * 400 + carry;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Linked resources are JSON in a string, which contains keys: parsed, so that these get names like all others.
fn open_linked_resources(value: &mut Value) {
    let linked = value.pointer_mut("/customHeaders/linkedResources");
    let Some(linked) = linked else {
        return;
    };
    let mut resources: Value = serde_json::from_str(linked.as_str().unwrap_or("")).unwrap();
    for resource in resources.as_array_mut().into_iter().flatten() {
        let key = resource["resourceKey"].as_str().unwrap_or("");
        resource["resourceKey"] = json!(format!("#{key}"));
    }
    *linked = resources;
}

/// The compared entries, with names in place of keys.
pub fn comparable(entries: Vec<Entry>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = entries.into_iter().filter(Entry::is_compared).collect();
    for entry in &mut entries {
        open_linked_resources(&mut entry.value);
        // A set: the recorder writes it in arbitrary order.
        for set in SETS {
            if let Some(Value::Array(names)) = entry.value.pointer_mut(set) {
                names.sort_by_key(Value::to_string);
            }
        }
        if entry.is("PROCESS_INSTANCE", &[])
            && let Some(fields) = entry.value.as_object_mut()
        {
            // The reference rarely adds tags here, and hardly ever a second path.
            fields.remove("tags");
            if entry.intent != "ELEMENT_ACTIVATING" {
                PATHS.iter().for_each(|path| drop(fields.remove(*path)));
            }
        }
        if entry.intent == "SEQUENCE_FLOW_TAKEN" || entry.intent == "SEQUENCE_FLOW_DELETED" {
            entry.key.clear();
        }
    }
    variables_of_called(&mut entries);
    variables_of_modified(&mut entries);
    let mut names = Names::default();
    for entry in entries.iter().filter(|e| e.is("PROCESS_INSTANCE", &[])) {
        names.own(entry);
    }
    for entry in &mut entries {
        names.replace(&mut entry.value);
    }
    sort_runs(&mut entries);
    for entry in &entries {
        names.own(entry);
    }
    for entry in &entries {
        names.field("", &entry.value);
    }
    for entry in &mut entries {
        names.replace(&mut entry.value);
        if let Some(name) = names.by_key.get(&entry.key) {
            entry.key = name.clone();
        }
        sort_scopes(&mut entry.value);
    }
    entries
}

/// Sorts another set: the scopes in which a modification activates elements.
fn sort_scopes(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(scopes)) = fields.get_mut("ancestorScopeKeys") {
                scopes.sort_by_key(Value::to_string);
            }
            fields.values_mut().for_each(sort_scopes);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_scopes),
        _ => {}
    }
}

/// Moves the variables of a called process before it. Their order relative to records in between is arbitrary.
fn variables_of_called(entries: &mut Vec<Entry>) {
    let begins = |entry: &Entry| {
        entry.intent == "ELEMENT_ACTIVATING" && entry.value["bpmnElementType"] == "PROCESS"
    };
    let beginnings: Vec<String> = entries
        .iter()
        .filter(|e| begins(e))
        .map(|e| e.key.clone())
        .collect();
    for process in beginnings {
        let Some(at) = entries.iter().position(|e| begins(e) && e.key == process) else {
            continue;
        };
        let before: Vec<Entry> = entries.drain(..at).collect();
        let is_its =
            |entry: &Entry| entry.value_type == "VARIABLE" && entry.value["scopeKey"] == *process;
        let (its, others): (Vec<_>, Vec<_>) = before.into_iter().partition(is_its);
        entries.splice(..0, others.into_iter().chain(its));
    }
}

/// Moves the variables that a modification sets before the activation of their element: the order of the two cannot be observed.
fn variables_of_modified(entries: &mut [Entry]) {
    let mut at = 0;
    while at < entries.len() {
        let variable = entries[at].clone();
        let begins = |entry: &Entry| {
            entry.intent == "ELEMENT_ACTIVATING" && variable.value["scopeKey"] == *entry.key
        };
        let is_of_process = |entry: &Entry| entry.value["bpmnElementType"] == "PROCESS";
        let later = entries[at..].iter().position(begins);
        match later {
            Some(after)
                if variable.value_type == "VARIABLE" && !is_of_process(&entries[at + after]) =>
            {
                entries[at..=at + after].rotate_left(1);
            }
            _ => at += 1,
        }
    }
}

/// Sorts the variables of one document, and the decisions of one file: both come in arbitrary order (in the reference that of a hash map).
fn sort_runs(entries: &mut [Entry]) {
    for entry in entries.iter_mut() {
        let decisions = entry.value.get_mut("decisionsMetadata");
        if let Some(decisions) = decisions.and_then(Value::as_array_mut) {
            decisions.sort_by_key(|decision| decision["decisionId"].to_string());
        }
    }
    let alike = |a: &Entry, b: &Entry| {
        let unordered = matches!(a.value_type.as_str(), "VARIABLE" | "DECISION");
        unordered && a.value_type == b.value_type && a.step == b.step
    };
    for run in entries.chunk_by_mut(alike) {
        let field = |e: &Entry, name: &str| e.value[name].to_string();
        run.sort_by_key(|e| ["scopeKey", "name", "decisionId"].map(|name| field(e, name)));
    }
}

/// Names of keys: the kind of an entity and its number within the kind.
#[derive(Default)]
struct Names {
    by_key: HashMap<String, String>,
    counts: HashMap<String, usize>,
}

impl Names {
    /// Names the entity that the record is about.
    fn own(&mut self, entry: &Entry) {
        let field = |name: &str| entry.value[name].as_str().unwrap_or("");
        let what = match entry.value_type.as_str() {
            "PROCESS_INSTANCE" => field("elementId"),
            "JOB" => field("type"),
            "VARIABLE" | "MESSAGE" => field("name"),
            "PROCESS" => field("bpmnProcessId"),
            "INCIDENT" => field("elementId"),
            "DECISION" => field("decisionId"),
            "TIMER" => field("targetElementId"),
            "MESSAGE_SUBSCRIPTION" | "PROCESS_MESSAGE_SUBSCRIPTION" => field("messageName"),
            _ => "",
        };
        let what = format!("{}:{what}", entry.value_type);
        self.add(&entry.key, what);
    }

    /// Names entities without their own records after the field where they appear first.
    fn field(&mut self, field: &str, value: &Value) {
        match value {
            Value::String(text) if text.starts_with('#') => self.add(text, field.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.field(field, item)),
            Value::Object(fields) if field != "variables" => {
                fields
                    .iter()
                    .for_each(|(name, value)| self.field(name, value));
            }
            _ => {}
        }
    }

    fn add(&mut self, key: &str, what: String) {
        if !key.starts_with('#') || self.by_key.contains_key(key) {
            return;
        }
        let count = self.counts.entry(what.clone()).or_default();
        *count += 1;
        self.by_key
            .insert(key.to_string(), format!("{what}/{count}"));
    }

    fn replace(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(name) = self.by_key.get(text) {
                    *text = name.clone();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.replace(value)),
            _ => {}
        }
    }
}
