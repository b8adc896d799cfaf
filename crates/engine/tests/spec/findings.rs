//! The rules of deployments: the example on each page of `docs/errors` is refused with that page's code.

use std::collections::BTreeSet;

use skep_protocol::findings::Rule;

use skep_testkit::rig::*;

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");

/// Too large for a page, or never found in a deployment.
const WITHOUT_EXAMPLE: [Rule; 3] = [
    Rule::ModelTooLarge,
    Rule::TextTooLong,
    Rule::DefinitionNotUsable,
];

/// The example of a page: the language of its block, and the text.
fn example(page: &str) -> Option<(&str, &str)> {
    let (_, after) = page.split_once("## Example\n\n```")?;
    let (language, after) = after.split_once('\n')?;
    let (text, _) = after.split_once("\n```\n")?;
    Some((language, text))
}

/// The file that contains an example, with its name.
fn file(language: &str, text: &str) -> (&'static str, String) {
    let definitions = |content: &str| {
        format!(
            "<bpmn:definitions xmlns:bpmn=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" \
             xmlns:zeebe=\"http://camunda.org/schema/zeebe/1.0\" id=\"d\">{content}</bpmn:definitions>"
        )
    };
    match language {
        "text" => ("example", text.to_string()),
        _ if text.starts_with("<?xml") => ("example.bpmn", text.to_string()),
        _ if text.starts_with("<decision") => (
            "example.dmn",
            format!(
                "<definitions xmlns=\"https://www.omg.org/spec/DMN/20191111/MODEL/\" id=\"d\" name=\"d\" \
                 namespace=\"n\">{text}</definitions>"
            ),
        ),
        _ if text.starts_with("<bpmn:process") => ("example.bpmn", definitions(text)),
        _ => {
            let process = format!(
                "<bpmn:process id=\"p\" isExecutable=\"true\"><bpmn:startEvent id=\"start\"/>{text}</bpmn:process>"
            );
            ("example.bpmn", definitions(&process))
        }
    }
}

/// The codes of the findings with which a deployment of this file is refused.
fn codes(name: &str, text: String) -> BTreeSet<&'static str> {
    let refused = Rig::new().deploy_files(vec![(name, text)]);
    let Err(rejection) = refused else {
        return BTreeSet::new();
    };
    let findings = rejection.findings.iter().flat_map(|it| &it.findings);
    let codes: BTreeSet<_> = findings.map(|finding| finding.rule.code()).collect();
    for code in &codes {
        assert!(
            rejection.reason.contains(&format!("ERROR[{code}]: ")),
            "{code} is not in the text: {}",
            rejection.reason
        );
    }
    codes
}

#[test]
fn the_example_on_the_page_of_a_rule_breaks_that_rule_alone() {
    let mut wrong = Vec::new();
    for rule in Rule::ALL {
        let code = rule.code();
        let page = std::fs::read_to_string(format!("{PAGES}/{code}.md"))
            .unwrap_or_else(|error| panic!("{code} has no page: {error}"));
        let Some((language, text)) = example(&page) else {
            if !WITHOUT_EXAMPLE.contains(rule) {
                wrong.push(format!("{code} has no example"));
            }
            continue;
        };
        let (name, text) = file(language, text);
        // This rule reports that the copied element has errors itself, so those are found as well.
        let also = (*rule == Rule::ReferenceInvalid).then_some(Rule::ValueMissing.code());
        let expected: BTreeSet<_> = [code].into_iter().chain(also).collect();
        let found = codes(name, text);
        if found != expected {
            wrong.push(format!("{code}: its example is refused with {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn oversized_models_and_names_have_codes_of_their_own() {
    let deep = format!("{}{}", "<a>".repeat(300), "</a>".repeat(300));
    assert_eq!(codes("deep.bpmn", deep.clone()), ["MODEL_TOO_LARGE"].into());
    assert_eq!(codes("deep.dmn", deep), ["MODEL_TOO_LARGE"].into());
    let name = format!("{}.form", "n".repeat(32_768));
    let form = r#"{"id": "ask"}"#.to_string();
    assert_eq!(codes(&name, form), ["TEXT_TOO_LONG"].into());
}

#[test]
fn refused_forms_and_scripts_have_codes_too() {
    for (text, code) in [
        ("{", "FILE_NOT_READABLE"),
        (r#" ["a", null]"#, "FILE_NOT_READABLE"),
        ("{}", "ID_MISSING"),
        (r#"{"id": " "}"#, "ID_MISSING"),
        (r#"{"id": 1}"#, "VALUE_INVALID"),
        (r#"{"id": "a", "versionTag": 1}"#, "VALUE_INVALID"),
    ] {
        for name in ["a.form", "a.rpa"] {
            assert_eq!(codes(name, text.to_string()), [code].into(), "{text}");
        }
    }
}
