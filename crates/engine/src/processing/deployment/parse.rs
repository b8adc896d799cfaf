//! Reads and checks the resources of a deployment: each on its own, then all together.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use skep_dmn::Drg;
use skep_model::deployment::{self, Named};
use skep_model::{Invalid, Options};
use skep_protocol::command::Resource;
use skep_protocol::findings::{Finding, Rule, shortened};
use skep_protocol::names::MAX_CHARS;
use skep_protocol::{Rejection, RejectionType};

use crate::processing::reject;

/// A resource that may be deployed, parsed and checked.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(super) resource: Bytes,
    pub(super) name: Arc<str>,
    /// SHA-256 of the content.
    pub(super) checksum: Bytes,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Processes(skep_model::Resource),
    Decisions(Drg),
    Form(JsonResource),
    /// An RPA script.
    Script(JsonResource),
}

/// The parts of a JSON resource that the engine reads.
#[derive(Debug)]
pub(super) struct JsonResource {
    pub id: Arc<str>,
    pub version_tag: Option<Arc<str>>,
}

/// Parses all resources.
///
/// # Errors
/// If any cannot be deployed, with the findings of all of them.
pub(crate) fn all(resources: &[Resource]) -> Result<Vec<Parsed>, Rejection> {
    if resources.is_empty() {
        return Err(reject(
            RejectionType::InvalidArgument,
            "CREATE",
            "Expected to deploy at least one resource, but none given",
        ));
    }
    let mut parsed = Vec::new();
    let mut invalid: Vec<Invalid> = Vec::new();
    for resource in resources {
        match content(resource) {
            Ok(content) => parsed.push(Parsed {
                resource: resource.content.clone(),
                name: resource.name.as_str().into(),
                checksum: Bytes::copy_from_slice(&Sha256::digest(&resource.content)),
                content,
            }),
            Err(e) => invalid.push(e),
        }
    }
    if invalid.is_empty() {
        invalid = together(&parsed);
    }
    if !invalid.is_empty() {
        return Err(Rejection::of_deployment("CREATE", invalid));
    }
    Ok(parsed)
}

fn content(resource: &Resource) -> Result<Content, Invalid> {
    let (name, content) = (&resource.name, &resource.content);
    match name.rsplit_once('.').map(|(_, suffix)| suffix) {
        Some("bpmn" | "xml") => {
            skep_model::parse(name, content, &Options::default()).map(Content::Processes)
        }
        Some("dmn") => {
            Drg::parse(name, content, &skep_dmn::Options::default()).map(Content::Decisions)
        }
        Some("form") => json("form", resource).map(Content::Form),
        Some("rpa") => json("RPA script", resource).map(Content::Script),
        _ => Err(Invalid::of_resource(
            name,
            Rule::ResourceTypeUnknown,
            "unknown resource type; expected a name that ends with '.bpmn', '.xml', '.dmn', '.form' or '.rpa'",
        )),
    }
}

/// The head of a JSON resource. The rest means nothing to the engine.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    id: Option<serde_json::Value>,
    version_tag: Option<serde_json::Value>,
}

impl Head {
    fn read(content: &[u8]) -> Result<Head, String> {
        if content.trim_ascii_start().first() != Some(&b'{') {
            return Err("it does not begin with '{'".to_string());
        }
        serde_json::from_slice(content).map_err(|e| e.to_string())
    }
}

fn json(what: &str, resource: &Resource) -> Result<JsonResource, Invalid> {
    let refuse = |rule, message: String| Err(Invalid::of_resource(&resource.name, rule, message));
    if resource.name.chars().count() > MAX_CHARS {
        let message = format!("The resource name has more than {MAX_CHARS} characters. Shorten it");
        return refuse(Rule::TextTooLong, message);
    }
    let head = match Head::read(&resource.content) {
        Ok(head) => head,
        Err(e) => {
            let message =
                format!("The {what} cannot be read: {e}. Expected a JSON object with an 'id'");
            return refuse(Rule::FileNotReadable, message);
        }
    };
    let id = match head.id {
        Some(serde_json::Value::String(id)) if !id.trim().is_empty() => id,
        Some(serde_json::Value::String(_)) => {
            let message = format!("The 'id' of the {what} is blank. Give it one");
            return refuse(Rule::IdMissing, message);
        }
        Some(_) => {
            let message = format!("The 'id' of the {what} is not a string. Make it one");
            return refuse(Rule::ValueInvalid, message);
        }
        None => {
            let message = format!("The {what} has no 'id'. Give it one");
            return refuse(Rule::IdMissing, message);
        }
    };
    if id.chars().count() > MAX_CHARS {
        let message =
            format!("The 'id' of the {what} has more than {MAX_CHARS} characters. Shorten it");
        return refuse(Rule::TextTooLong, message);
    }
    let version_tag = match head.version_tag {
        None | Some(serde_json::Value::Null) => None,
        Some(serde_json::Value::String(tag)) => Some(tag),
        Some(_) => {
            let message = format!("The 'versionTag' of the {what} is not a string. Make it one");
            return refuse(Rule::ValueInvalid, message);
        }
    };
    Ok(JsonResource {
        id: id.into(),
        version_tag: version_tag.filter(|tag| !tag.is_empty()).map(Arc::from),
    })
}

/// Checks resources that are deployed together: ids must be unique.
fn together(parsed: &[Parsed]) -> Vec<Invalid> {
    let processes = parsed.iter().filter_map(|one| match &one.content {
        Content::Processes(model) => Some((&*one.name, model)),
        _ => None,
    });
    let processes: Vec<_> = processes.collect();
    let others = parsed.iter().flat_map(|one| ids(&one.content));
    let others = others.filter_map(|(what, id)| Some((what.named()?, id.into())));
    let mut invalid = deployment::check(&processes, others)
        .err()
        .unwrap_or_default();
    let mut first_uses: HashMap<(What, &str), &str> = HashMap::new();
    for one in parsed {
        let mut findings = Vec::new();
        for (what, id) in ids(&one.content) {
            if let Some(other) = first_uses.insert((what, id), &one.name) {
                let message = format!(
                    "The {} '{}' is also used by the resource '{}' of this deployment. Give each its own",
                    what.in_words(),
                    shortened(id.to_string(), 200),
                    shortened(other.to_string(), 200)
                );
                findings.push(Finding::of_file(Rule::DuplicateId, message, None));
            }
        }
        if !findings.is_empty() {
            invalid.push(Invalid {
                resource_name: one.name.to_string(),
                findings,
                further: 0,
            });
        }
    }
    invalid
}

/// The kind of definition that an id names, except processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    DecisionRequirements,
    Decision,
    Form,
    Resource,
}

impl What {
    fn in_words(self) -> &'static str {
        match self {
            What::DecisionRequirements => "decision requirements id",
            What::Decision => "decision id",
            What::Form => "form id",
            What::Resource => "resource id",
        }
    }

    /// The kind by which elements of a process refer to it, if they can.
    fn named(self) -> Option<Named> {
        match self {
            What::DecisionRequirements => None,
            What::Decision => Some(Named::Decision),
            What::Form => Some(Named::Form),
            What::Resource => Some(Named::Resource),
        }
    }
}

/// The ids that a resource defines, except those of processes.
fn ids(content: &Content) -> Vec<(What, &str)> {
    match content {
        Content::Processes(_) => Vec::new(),
        Content::Decisions(graph) => {
            let decisions = graph.decisions().iter();
            let decisions = decisions.map(|decision| (What::Decision, decision.id()));
            std::iter::once((What::DecisionRequirements, graph.id()))
                .chain(decisions)
                .collect()
        }
        Content::Form(form) => vec![(What::Form, &form.id)],
        Content::Script(script) => vec![(What::Resource, &script.id)],
    }
}
