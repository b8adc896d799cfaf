//! The value of CLUSTER_VARIABLE records.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::JsonText;
use crate::tenant::TenantId;

/// A variable that the expressions of all processes see, or of all processes of one tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVariableValue {
    pub name: Arc<str>,
    pub value: JsonText,
    /// None: it is global.
    pub tenant: Option<TenantId>,
}

impl ClusterVariableValue {
    /// About how many bytes its texts take.
    pub fn weight(&self) -> usize {
        self.name.len() + self.value.len()
    }
}
