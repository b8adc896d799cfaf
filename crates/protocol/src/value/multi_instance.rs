//! Records of multi-instance activities.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::JsonText;
use crate::key::Key;

/// INPUT_COLLECTION_EVALUATED: the items for which a multi-instance body runs its activity. The record's key is that of the body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MultiInstanceValue {
    pub input_collection: Vec<JsonText>,
    /// Steps in a row that led to the body: each of its instances is one further, however many there are.
    pub chain: u32,
}

/// Skep's own: one element of a variable that is a list got another value. The record's key is that of the variable.
/// Otherwise a growing list would be in the log once for each of its elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariableElementValue {
    pub name: Arc<str>,
    pub scope_key: Key,
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    pub root_process_instance_key: Key,
    /// From 0.
    pub index: u32,
    /// Offset of the element's old value in the text of the list.
    pub begin: u32,
    pub end: u32,
    pub value: JsonText,
}
