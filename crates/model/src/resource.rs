//! A BPMN resource as a whole: from bytes to its executable processes.

use std::collections::HashSet;
use std::sync::Arc;

use skep_protocol::names::MAX_CHARS;

use crate::compile::{Purpose, compile};
use crate::context::{Context, Definitions};
use crate::error::{self, Finding, Findings, Invalid, Rule, abbreviate};
use crate::graph::{PinnedElement, Process};
use crate::value::boolean;
use crate::xml::{self, BPMN, Document, Node, Unreadable, bpmn_name};

/// Limits on deployed resources.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the XML file.
    pub max_xml_bytes: usize,
    /// Characters of an element's id.
    pub max_id_length: usize,
    /// Characters of an element's name and of the resource's name.
    pub max_name_length: usize,
    /// Characters of a constant job type.
    pub max_job_type_length: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_xml_bytes: 4 * 1024 * 1024,
            max_id_length: MAX_CHARS,
            max_name_length: MAX_CHARS,
            max_job_type_length: MAX_CHARS,
        }
    }
}

/// The executable processes of a BPMN file, in document order; at least one.
#[derive(Debug)]
pub struct Resource {
    pub processes: Vec<Process>,
}

/// Reads and checks a BPMN file for deployment.
///
/// # Errors
/// All findings of the file, so that a user can fix them together.
pub fn parse(resource_name: &str, xml: &[u8], options: &Options) -> Result<Resource, Invalid> {
    let unreadable = |fault: Unreadable| Invalid::single(resource_name, error::unreadable(fault));
    let text = xml::decode(xml, options.max_xml_bytes).map_err(unreadable)?;
    let document = xml::parse(text).map_err(unreadable)?;
    let mut findings = Findings::default();
    let length = resource_name.chars().count();
    if length > options.max_name_length {
        let message = format!(
            "The resource name has {length} characters, the limit is {}. Shorten it",
            options.max_name_length
        );
        findings.add_finding(Finding::of_file(Rule::TextTooLong, message, None));
    }
    let processes = compile_all(&document, options, &mut findings);
    if findings.count() > 0 && is_for_camunda_7(document.root_element()) {
        let message = format!(
            "This model is made for Camunda 7: its behavior is defined in extensions of {}, which engines with this API do not read. \
             Convert it first, then check which of the findings below remain",
            xml::CAMUNDA_7
        );
        findings.add_first(Finding::of_file(Rule::NotSupported, message, None));
    }
    findings.into_result(resource_name)?;
    Ok(Resource { processes })
}

/// Recompiles a deployed process from its stored XML so that each element keeps the index under which the log names it.
///
/// `elements` are in index order, the first being the process itself, as [`Process::pinned_elements`] listed them when the
/// process was deployed. The rules that only guard deployments are not checked again: what was once accepted stays readable
/// when a later release is stricter. An element that cannot be read is [`ElementKind::Unusable`].
///
/// # Errors
/// When the XML cannot be read, or does not hold this process with exactly these elements.
///
/// [`ElementKind::Unusable`]: crate::ElementKind::Unusable
pub fn parse_pinned(xml: &[u8], elements: &[PinnedElement]) -> Result<Process, Invalid> {
    let process_id = elements.first().map_or("", |process| &*process.id);
    let refusal = |finding: Finding| Invalid::single(process_id, finding);
    let unreadable = |fault: Unreadable| refusal(error::unreadable(fault));
    let text = xml::decode(xml, usize::MAX).map_err(unreadable)?;
    let document = xml::parse_stored(text).map_err(unreadable)?;
    let definitions = Definitions::new(document.root_element());
    let node =
        processes(document.root_element()).find(|node| node.attribute("id") == Some(process_id));
    let Some(node) = node else {
        let message = format!("The file does not contain the process '{process_id}'");
        let finding = Finding::of_file(Rule::DefinitionNotUsable, message, None);
        return Err(refusal(finding));
    };
    let mut findings = Findings::default();
    let mut context = Context::new(&definitions, &mut findings);
    let process = compile(node, &mut context, Purpose::Stored(elements));
    match process {
        Some(process) => Ok(Process {
            call_activities: call_activities(document.root_element()),
            ..process
        }),
        None => {
            findings.into_result(process_id)?;
            let message = format!("The process '{process_id}' cannot be compiled");
            let finding = Finding::of_file(Rule::DefinitionNotUsable, message, None);
            Err(refusal(finding))
        }
    }
}

fn compile_all(
    document: &Document<'_>,
    options: &Options,
    findings: &mut Findings,
) -> Vec<Process> {
    let root = document.root_element();
    if bpmn_name(root) != Some("definitions") {
        let name = root.tag_name().name();
        let message = format!(
            "The file is not a BPMN 2.0 model: its root is '{name}', expected 'definitions' in the namespace {BPMN}"
        );
        findings.add_finding(Finding::of_file(Rule::NotAModel, message, Some(1)));
        return Vec::new();
    }
    refuse_strangers(root, findings);
    let definitions = Definitions::new(root);
    definitions.check(findings);
    let mut seen = HashSet::new();
    let mut compiled: Vec<Process> = Vec::new();
    let mut executable = 0;
    for node in processes(root) {
        if !boolean(node, node, "isExecutable", false, findings).unwrap_or(false) {
            continue;
        }
        executable += 1;
        let id = node.attribute("id").unwrap_or_default();
        if !id.is_empty() && !seen.insert(id) {
            findings.add(
                node,
                Rule::DuplicateId,
                format!(
                    "The process id '{id}' is used twice in this file. Give each process its own id"
                ),
            );
            continue;
        }
        if !id.is_empty() && !is_process_id(id) {
            findings.add(
                node, Rule::IdInvalid,
                format!(
                    "The process id '{}' is not valid: it must begin with a letter or '_', followed by letters, digits, '_', '-' and '.'. Change it",
                    abbreviate(id)
                ),
            );
        }
        let mut context = Context::new(&definitions, findings);
        compiled.extend(compile(node, &mut context, Purpose::Deployment(options)));
    }
    let called_from = call_activities(root);
    for process in &mut compiled {
        process.call_activities = called_from.clone();
    }
    check_ids(root, findings);
    if executable == 0 {
        let message = "The file contains no executable process. Set isExecutable=\"true\" on the process to deploy";
        findings.add(root, Rule::NoExecutableProcess, message);
    }
    compiled
}

/// The form that the API gives to process ids: `^[\p{L}_][\p{L}\p{N}_\-\.]*$`.
fn is_process_id(id: &str) -> bool {
    let mut chars = id.chars();
    let begins = |c: char| c == '_' || c.is_alphabetic() && !c.is_numeric();
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    chars.next().is_some_and(begins) && chars.all(goes_on)
}

fn processes<'x>(root: Node<'x>) -> impl Iterator<Item = Node<'x>> {
    xml::bpmn_children(root, "process")
}

/// Ids of the call activities of a file, sorted.
fn call_activities(root: Node<'_>) -> Arc<[Arc<str>]> {
    let calls = root
        .descendants()
        .filter(|node| bpmn_name(*node) == Some("callActivity"));
    let mut ids: Vec<Arc<str>> = calls
        .filter_map(|node| node.attribute("id"))
        .map(Arc::from)
        .collect();
    ids.sort_unstable();
    ids.into()
}

/// Whether it has extensions of Camunda 7 and none of this API. A file with both has been converted.
fn is_for_camunda_7(root: Node<'_>) -> bool {
    let uses = |namespace: &str| {
        root.descendants().any(|node| {
            let mut attributes = node.attributes();
            node.tag_name().namespace() == Some(namespace)
                || attributes.any(|attribute| attribute.namespace() == Some(namespace))
        })
    };
    uses(xml::CAMUNDA_7) && !uses(xml::ZEEBE)
}

/// An id is unique in a file, drawings included; otherwise a reference in the XML would be ambiguous.
fn check_ids(root: Node<'_>, findings: &mut Findings) {
    let mut seen = HashSet::new();
    let identified = root.descendants().filter(|node| {
        let namespace = node.tag_name().namespace().unwrap_or_default();
        node.is_element() && namespace.starts_with(xml::SPECIFICATION)
    });
    for node in identified {
        let id = node.attribute("id").unwrap_or_default();
        // Within a process it is reported already.
        if !id.is_empty() && !seen.insert(id) && !findings.has(Rule::DuplicateId, id) {
            let message = format!(
                "The id '{}' is used by another element of this file. Give each its own id",
                abbreviate(id)
            );
            findings.add_at(node, Rule::DuplicateId, message);
        }
    }
}

/// Refuses choreographies and conversations, which nothing would execute.
fn refuse_strangers(root: Node<'_>, findings: &mut Findings) {
    let collaborations = xml::bpmn_children(root, "collaboration").flat_map(|c| c.children());
    for node in root.children().chain(collaborations) {
        let Some(name) = bpmn_name(node) else {
            continue;
        };
        let lower = name.to_ascii_lowercase();
        if lower.contains("choreography")
            || lower.contains("conversation")
                && name != "conversationLink"
                && name != "conversationAssociation"
        {
            let message = format!(
                "'{name}': choreographies and conversations are not executed by engines of this kind. Model the process itself"
            );
            findings.add(node, Rule::NotSupported, message);
        }
    }
}
