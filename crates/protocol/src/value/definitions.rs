//! The content of a deployment: decision requirements with their decisions, forms, other resources.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::tenant::TenantId;

/// All resources of one deployment, new or not, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeploymentValue {
    pub deployment_key: Key,
    pub processes: Vec<DefinitionMetadata>,
    pub decision_requirements: Vec<DecisionRequirementsMetadata>,
    pub decisions: Vec<DecisionValue>,
    pub forms: Vec<DefinitionMetadata>,
    pub resources: Vec<DefinitionMetadata>,
    pub tenant: TenantId,
}

/// A process, a form or another resource without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefinitionMetadata {
    pub id: Arc<str>,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub key: Key,
    /// The deployment that created it: for a duplicate, an earlier one.
    pub deployment_key: Key,
    pub resource_name: Arc<str>,
    /// SHA-256 of the resource.
    pub checksum: Bytes,
    /// The latest version has the same content and name: no new version was created.
    pub duplicate: bool,
    pub tenant: TenantId,
}

/// The decisions of one file, without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRequirementsMetadata {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub version: i32,
    pub key: Key,
    pub deployment_key: Key,
    pub resource_name: Arc<str>,
    /// SHA-256 of the resource.
    pub checksum: Bytes,
    pub duplicate: bool,
    pub tenant: TenantId,
}

/// DECISION_REQUIREMENTS: a file of decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRequirementsValue {
    pub metadata: DecisionRequirementsMetadata,
    pub resource: Bytes,
}

/// DECISION: one decision of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionValue {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub key: Key,
    pub decision_requirements_id: Arc<str>,
    pub decision_requirements_key: Key,
    pub deployment_key: Key,
    pub duplicate: bool,
    pub tenant: TenantId,
}

/// A form or another resource with its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredResource {
    pub metadata: DefinitionMetadata,
    pub resource: Bytes,
}

/// FORM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormValue(pub StoredResource);

/// RESOURCE: an RPA script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceValue(pub StoredResource);
