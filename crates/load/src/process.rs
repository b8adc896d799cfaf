//! The process to deploy and start, and its variables.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use anyhow::{Context as _, bail};
use skep_client::Resource;
use skep_random::Random;

/// The job type of all tasks in the built-in process.
pub const JOB_TYPE: &str = "skep-load";

/// A process to load the server with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The files to deploy, that of the process first.
    pub resources: Vec<Resource>,
    /// Its BPMN process id.
    pub process_id: String,
    /// Job types to be worked.
    pub job_types: Vec<String>,
    /// Jobs that each instance takes.
    pub jobs_per_instance: u32,
}

/// Start event, `tasks` service tasks in sequence, end event.
pub fn built_in(tasks: u32) -> Process {
    named(format!("skep-load-{tasks}"), JOB_TYPE, tasks)
}

/// The same with custom names.
pub fn named(process_id: String, job_type: &str, tasks: u32) -> Process {
    let mut elements = String::new();
    let mut from = "start".to_owned();
    for number in 1..=tasks {
        let id = format!("task-{number}");
        // writing to a String cannot fail
        let _ = write!(
            elements,
            r#"
    <bpmn:serviceTask id="{id}">
      <bpmn:extensionElements><zeebe:taskDefinition type="{job_type}"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="to-{id}" sourceRef="{from}" targetRef="{id}"/>"#
        );
        from = id;
    }
    let xml = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="skep-load" targetNamespace="http://skep/load">
  <bpmn:process id="{process_id}" isExecutable="true">
    <bpmn:startEvent id="start"/>{elements}
    <bpmn:sequenceFlow id="to-end" sourceRef="{from}" targetRef="end"/>
    <bpmn:endEvent id="end"/>
  </bpmn:process>
</bpmn:definitions>
"#
    );
    Process {
        resources: vec![Resource {
            name: format!("{process_id}.bpmn"),
            content: xml.into(),
        }],
        process_id,
        job_types: if tasks == 0 {
            Vec::new()
        } else {
            vec![job_type.into()]
        },
        jobs_per_instance: tasks,
    }
}

/// A process from a file: its first executable process, with the job types named in the file.
///
/// # Errors
/// The file cannot be read, is not BPMN, has no executable process, or names job types by
/// expression.
pub fn from_file(path: &Path, jobs_per_instance: Option<u32>) -> anyhow::Result<Process> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("reading the process {}", path.display()))?;
    let name = path.file_name().map_or_else(
        || "process.bpmn".into(),
        |n| n.to_string_lossy().into_owned(),
    );
    parse(name, text, jobs_per_instance).with_context(|| format!("the process {}", path.display()))
}

pub(crate) fn parse(name: String, text: String, jobs: Option<u32>) -> anyhow::Result<Process> {
    let document = roxmltree::Document::parse(&text)?;
    let process = document
        .descendants()
        .find(|node| {
            node.has_tag_name_in_any_namespace("process")
                && node.attribute("isExecutable") == Some("true")
        })
        .context("has no executable process")?;
    let process_id = process
        .attribute("id")
        .context("has a process without id")?;
    let mut job_types = BTreeSet::new();
    let mut count = 0_u32;
    for node in document.descendants() {
        if !node.has_tag_name_in_any_namespace("taskDefinition") {
            continue;
        }
        let job_type = node
            .attribute("type")
            .context("has a task without job type")?;
        if job_type.starts_with('=') {
            bail!(
                "names a job type by the expression {job_type:?}, which only the server can evaluate"
            );
        }
        job_types.insert(job_type.to_owned());
        count = count.saturating_add(1);
    }
    let process_id = process_id.to_owned();
    Ok(Process {
        process_id,
        job_types: job_types.into_iter().collect(),
        jobs_per_instance: jobs.unwrap_or(count),
        resources: vec![Resource {
            name,
            content: text.into(),
        }],
    })
}

trait AnyNamespace {
    fn has_tag_name_in_any_namespace(&self, name: &str) -> bool;
}

impl AnyNamespace for roxmltree::Node<'_, '_> {
    fn has_tag_name_in_any_namespace(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// A JSON object of `bytes` bytes (or `{}` when that is too few), hard to compress.
pub fn variables(bytes: u64) -> String {
    const FRAME: &str = r#"{"payload":""}"#;
    let frame = u64::try_from(FRAME.len()).unwrap_or(u64::MAX);
    let Some(length) = bytes.checked_sub(frame) else {
        return "{}".into();
    };
    let noise = Random(1).noise(usize::try_from(length).unwrap_or(usize::MAX));
    format!(r#"{{"payload":"{noise}"}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_process_reads_back_the_same() {
        for tasks in [0, 1, 3] {
            let made = built_in(tasks);
            let file = &made.resources[0];
            let text = String::from_utf8(file.content.to_vec()).unwrap();
            let read = parse(file.name.clone(), text, None).unwrap();
            assert_eq!(read, made);
        }
    }

    #[test]
    fn a_job_type_by_expression_is_refused_with_the_reason() {
        let text =
            r#"<d><process id="p" isExecutable="true"><taskDefinition type="=x"/></process></d>"#;
        let error = parse("p".into(), text.into(), None).unwrap_err();
        assert!(error.to_string().contains("\"=x\""), "{error}");
        assert!(parse("p".into(), "<d/>".into(), None).is_err());
    }

    #[test]
    fn variables_have_the_size_asked_for() {
        for bytes in [14, 15, 100, 32 * 1024] {
            assert_eq!(variables(bytes).len() as u64, bytes);
        }
        assert_eq!(variables(0), "{}");
        let json: serde_json::Value = serde_json::from_str(&variables(1000)).unwrap();
        assert!(json["payload"].is_string());
    }
}
