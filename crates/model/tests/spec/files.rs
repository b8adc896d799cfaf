//! Files as written by modelers: diagrams, pools, lanes, data, notes.

use skep_model::{ElementType, Options, Process};

fn model(name: &str) -> Process {
    let path = format!("{}/tests/models/{name}", env!("CARGO_MANIFEST_DIR"));
    let xml = std::fs::read(&path).expect("the model is readable");
    let mut resource = skep_model::parse(name, &xml, &Options::default())
        .unwrap_or_else(|invalid| panic!("{invalid}"));
    assert_eq!(resource.processes.len(), 1, "{name}");
    resource.processes.remove(0)
}

fn count(process: &Process, element_type: ElementType) -> usize {
    process
        .elements
        .iter()
        .filter(|element| element.element_type == element_type)
        .count()
}

#[test]
fn an_order_process_with_pools_lanes_and_diagram() {
    let process = model("order.bpmn");
    assert_eq!(
        (&*process.id, process.version_tag.as_deref()),
        ("order", Some("2026.1"))
    );
    assert_eq!(count(&process, ElementType::ServiceTask), 3);
    assert_eq!(count(&process, ElementType::BoundaryEvent), 2);
    assert_eq!(count(&process, ElementType::SubProcess), 1);
    assert_eq!(count(&process, ElementType::SequenceFlow), 13);
}

#[test]
fn a_plain_process_with_default_namespace_and_windows_line_ends() {
    let process = model("plain.bpmn");
    assert_eq!(process.element_ids().count(), 6);
}

/// The models shared by all suites.
fn shared(folder: &str) -> Vec<(String, String)> {
    let path = format!(
        "{}/../../tests/processes/{folder}",
        env!("CARGO_MANIFEST_DIR")
    );
    let entries = std::fs::read_dir(path).expect("the models are there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut models: Vec<_> = paths
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            let text = std::fs::read(&path).expect("readable");
            (name.to_string(), String::from_utf8_lossy(&text).to_string())
        })
        .collect();
    models.sort();
    models
}

/// The finding announced in the comment of a model: its code, and its element, if any (``finding on `ELEMENT` (CODE): …``).
fn said_of(text: &str) -> (&str, Option<&str>) {
    let Some((_, after)) = text.split_once("finding on ") else {
        // This file cannot contain a comment.
        return ("FILE_NOT_READABLE", None);
    };
    let (subject, _) = after.split_once(':').expect("a rule");
    let (subject, code) = subject.split_once(" (").unwrap_or((subject, "no code"));
    let code = code.trim_end_matches(')');
    let element = subject
        .strip_prefix('`')
        .and_then(|id| id.strip_suffix('`'));
    (code, element)
}

#[test]
fn every_invalid_model_is_refused_where_it_says() {
    let models = shared("invalid");
    assert!(models.len() >= 100, "{} models", models.len());
    let mut wrong = Vec::new();
    for (name, text) in models {
        let Err(invalid) = crate::support::parse(&text) else {
            panic!("{name} is accepted");
        };
        let (code, element) = said_of(&text);
        let codes: Vec<_> = invalid.findings.iter().map(|f| f.rule.code()).collect();
        if codes.iter().any(|found| *found != code) {
            wrong.push(format!("{name}: {code} is said, found are {codes:?}"));
        }
        if let Some(element) = element {
            // A referenced name is quoted in the text.
            let quoted = format!("'{element}'");
            let mut findings = invalid.findings.iter();
            let found = findings.any(|finding| {
                let ids = [&finding.element_id, &finding.process_id];
                ids.iter().any(|id| id.as_deref() == Some(element))
                    || finding.message.contains(&quoted)
            });
            assert!(found, "{name}: '{element}' is not named\n{invalid}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_valid_model_is_accepted() {
    for (name, text) in shared("valid") {
        let parsed = skep_model::parse(&name, text.as_bytes(), &Options::default());
        assert!(parsed.is_ok(), "{name}: {}", parsed.expect_err("refused"));
    }
}
