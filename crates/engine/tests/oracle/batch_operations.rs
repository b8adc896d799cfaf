//! Commands of batch operations, from steps. A step that gives the items stands in for the broker's search.

use std::sync::Arc;

use serde_json::Value;
use skep_protocol::Key;
use skep_protocol::command::*;
use skep_protocol::value::*;

use crate::commands::{Arguments, Stop};
use crate::keys;
use skep_testkit::scenario::Scenario;

/// The filter of operations whose items come with a later step; searches with other filters find nothing.
const GIVEN: &str = "itemsComeFromTheNextStep";

pub fn command(a: &Arguments<'_>) -> Result<Command, Stop> {
    let value = Arguments(&a.0["value"]);
    let batch_operation_key = value.key("batchOperationKey");
    Ok(match (a.text("valueType"), a.text("intent")) {
        ("BATCH_OPERATION_CREATION", "CREATE") => {
            Command::Batch(BatchCommand::Create(Box::new(creation(&value))))
        }
        ("BATCH_OPERATION_CHUNK", "CREATE") => Command::Batch(BatchCommand::Add(AddBatchItems {
            batch_operation_key,
            resources: Vec::new(),
            items: items(&value.0["items"]),
            after: Key::NONE,
            last: false,
        })),
        ("BATCH_OPERATION_LIFECYCLE_MANAGEMENT", intent) => match intent {
            "SUSPEND" => Command::Batch(BatchCommand::Suspend {
                batch_operation_key,
            }),
            "RESUME" => Command::Batch(BatchCommand::Resume {
                batch_operation_key,
            }),
            _ => Command::Batch(BatchCommand::Cancel {
                batch_operation_key,
            }),
        },
        (value_type, intent) => {
            return Err(Stop::NotYet(format!("the command {value_type} {intent}")));
        }
    })
}

/// Whether only the broker can find the items of this operation: it finds none, as the reference had nothing to search.
pub fn finds_nothing(value: &Value) -> bool {
    !value["entityFilter"].is_null() && value["entityFilter"].get(GIVEN).is_none()
}

fn creation(value: &Arguments<'_>) -> CreateBatchOperation {
    let kinds = BatchOperationType::ALL;
    let given = value.text("batchOperationType");
    let kind = kinds.into_iter().find(|kind| kind.as_str() == given);
    let moves = &value.0["modificationPlan"]["moveInstructions"];
    let pair = |pair: &Value| -> (Arc<str>, Arc<str>) {
        let id = |name: &str| pair[name].as_str().unwrap_or("").into();
        (id("sourceElementId"), id("targetElementId"))
    };
    CreateBatchOperation {
        kind: kind.expect("a type of batch operation"),
        filter: match &value.0["entityFilter"] {
            Value::Null => Arc::default(),
            filter => filter.to_string().into(),
        },
        plan: match moves.as_array() {
            Some(moves) => BatchPlan::Modify {
                moves: moves.iter().map(pair).collect(),
            },
            None => BatchPlan::None,
        },
        follow_up: None,
    }
}

fn items(items: &Value) -> Vec<BatchOperationItem> {
    let item = |item: &Value| {
        let key = |name: &str| item[name].as_i64().map_or(Key::NONE, Key);
        BatchOperationItem {
            item_key: key("itemKey"),
            process_instance_key: key("processInstanceKey"),
            root_process_instance_key: key("processInstanceKey"),
        }
    };
    items.as_array().into_iter().flatten().map(item).collect()
}

/// Puts the items of a chunk in the order in which the reference took them. It is the arbitrary order of a set there; Skep takes items in
/// the given order.
pub fn in_recorded_order(chunk: &mut Value, scenario: &Scenario, records: &[Value]) {
    let records_of_reference = scenario.part("records.jsonl");
    let recorded = records_of_reference
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).expect("a line is a record") });
    let mut executing = recorded.filter(|record| record["intent"] == "EXECUTING");
    let Some(executing) = executing.next() else {
        return;
    };
    let symbols = executing["value"]["itemKeys"].as_array().unwrap().iter();
    let keys: Vec<Option<Key>> = symbols
        .map(|symbol| keys::symbol(symbol.as_str().unwrap(), records))
        .collect();
    let items = chunk["value"]["items"].as_array_mut().unwrap();
    items.sort_by_key(|item| {
        let key = item["itemKey"].as_i64().map(Key);
        keys.iter().position(|recorded| *recorded == key)
    });
}
