//! Forms, RPA scripts and decision files: versions, duplicates, refusals, deletion.

use skep_model::builder::Bpmn;
use skep_protocol::TenantId;
use skep_protocol::value::DeploymentValue;

use skep_testkit::rig::*;

fn form(id: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","type":"default","components":[]{rest}}}"#)
}

#[test]
fn every_kind_has_versions_and_duplicates() {
    let versions = |d: &DeploymentValue| {
        let forms = d.forms.iter().map(|f| (f.version, f.duplicate));
        let scripts = d.resources.iter().map(|r| (r.version, r.duplicate));
        let files = d.decision_requirements.iter();
        let files = files.map(|f| (f.version, f.duplicate));
        let decisions = d.decisions.iter().map(|d| (d.version, d.duplicate));
        let all = forms.chain(scripts).chain(files).chain(decisions);
        all.collect::<Vec<_>>()
    };
    let files = |tag: &str, robot: i32| {
        vec![
            ("f.form", form("f", tag)),
            ("r.rpa", format!(r#"{{"id":"robot","n":{robot}}}"#)),
            ("d.dmn", decision("fees", "fee", "1")),
        ]
    };
    let mut rig = Rig::new();
    let first = rig.deployed(files("", 1));
    assert_eq!(versions(&first), [(1, false); 4]);
    let again = rig.deployed(files("", 1));
    assert_eq!(versions(&again), [(1, true); 4]);
    assert_eq!(again.decisions[0].key, first.decisions[0].key);
    assert_eq!(again.forms[0].deployment_key, first.deployment_key);
    let changed = rig.deployed(files(r#","versionTag":"v2""#, 1));
    assert_eq!(
        versions(&changed),
        [(2, false); 4],
        "one that is new makes all new"
    );
    assert_eq!(changed.forms[0].version_tag.as_deref(), Some("v2"));
    assert_eq!(versions(&rig.deployed(files("", 2))), [(3, false); 4]);
    let kinds: Vec<_> = rig.seen.iter().filter(|r| r.is_event()).collect();
    let kinds: Vec<_> = kinds.iter().take(5).map(|r| r.value_type).collect();
    assert_eq!(
        kinds,
        [
            "FORM",
            "RESOURCE",
            "DECISION_REQUIREMENTS",
            "DECISION",
            "DEPLOYMENT"
        ]
    );
}

/// If another file has brought a newer version of the decision, the older file creates a new version again.
#[test]
fn a_file_is_no_duplicate_when_its_decision_is_no_longer_the_latest() {
    let mut rig = Rig::new();
    let a = vec![("a.dmn", decision("a", "fee", "1"))];
    rig.deployed(a.clone());
    rig.deployed(vec![("b.dmn", decision("b", "fee", "2"))]);
    let again = rig.deployed(a);
    assert_eq!(again.decision_requirements[0].version, 2);
    assert_eq!(
        (again.decisions[0].version, again.decisions[0].duplicate),
        (3, false)
    );
}

#[test]
fn resources_that_cannot_be_deployed_are_named_with_the_reason() {
    let process = Bpmn::process("p").start("s").end("e").xml();
    let long = form(&"x".repeat(32_769), "");
    for (files, said) in [
        (vec![("a.form", "{}")], "has no 'id'"),
        (vec![("a.form", r#"{"id":" "}"#)], "is blank"),
        (vec![("a.form", r#"{"id":7}"#)], "is not a string"),
        (
            vec![("a.form", r#"{"id":"f","versionTag":1}"#)],
            "'versionTag'",
        ),
        (vec![("a.form", long.as_str())], "more than 32768"),
        (vec![("a.form", "[]")], "it does not begin with '{'"),
        (vec![("a.form", "\"text\"")], "it does not begin with '{'"),
        (vec![("a.rpa", "{")], "The RPA script cannot be read"),
        (vec![("a.txt", "text")], "unknown resource type"),
        (vec![("a", "text")], "unknown resource type"),
        (vec![("a.dmn", "<x/>")], "not a DMN model"),
        (
            vec![("a.form", r#"{"id":"f"}"#), ("b.form", r#"{"id":"f"}"#)],
            "form id 'f' is also used by the resource 'a.form'",
        ),
        (
            vec![("a.rpa", r#"{"id":"f"}"#), ("b.rpa", r#"{"id":"f"}"#)],
            "resource id 'f' is also used",
        ),
    ] {
        let mut rig = Rig::new();
        let mut files: Vec<_> = files.into_iter().map(|(n, c)| (n, c.to_string())).collect();
        files.push(("good.bpmn", process.clone()));
        let (kind, reason) = rejected(rig.deploy_files(files));
        assert_eq!(kind, "INVALID_ARGUMENT");
        assert!(
            reason.contains(said) && !reason.contains("good.bpmn"),
            "{reason}"
        );
        assert!(rig.seen.iter().all(|r| !r.is_event()));
    }
    let mut rig = Rig::new();
    let twice = vec![
        ("a.dmn", decision("a", "fee", "1")),
        ("b.dmn", decision("b", "fee", "1")),
    ];
    let (_, reason) = rejected(rig.deploy_files(twice));
    assert!(
        reason.contains("decision id 'fee' is also used"),
        "{reason}"
    );
    let twice = vec![
        ("a.dmn", decision("a", "fee", "1")),
        ("b.dmn", decision("a", "tax", "1")),
    ];
    let (_, reason) = rejected(rig.deploy_files(twice));
    assert!(
        reason.contains("decision requirements id 'a' is also used"),
        "{reason}"
    );
}

#[test]
fn each_kind_is_deleted_by_its_key_on_every_partition() {
    let mut rig = Rig::with_partitions(2);
    let deployed = rig.deployed(vec![
        ("f.form", form("f", "")),
        ("r.rpa", r#"{"id":"robot"}"#.to_string()),
        ("d.dmn", decision("fees", "fee", "1")),
    ]);
    for key in [
        deployed.forms[0].key,
        deployed.resources[0].key,
        deployed.decision_requirements[0].key,
    ] {
        for partition in [1, 2] {
            let state = &rig.engine(partition).state;
            let pins = [
                state.forms.pin(key),
                state.resources.pin(key),
                state.decisions.requirements.pin(key),
            ];
            assert_eq!(pins.into_iter().flatten().count(), 1, "distributed");
        }
        rig.delete_resource(key).unwrap();
        assert_eq!(rejected(rig.delete_resource(key)).0, "NOT_FOUND");
    }
    for partition in [1, 2] {
        let state = &mut rig.engine(partition).state;
        let tenant = &TenantId::default();
        assert_eq!(state.forms.latest(tenant, "f"), None);
        assert_eq!(state.resources.latest(tenant, "robot"), None);
        assert_eq!(state.decisions.requirements.latest(tenant, "fees"), None);
        assert_eq!(state.decisions.decisions.latest(tenant, "fee"), None);
        assert!(state.forms.get(deployed.forms[0].key).is_none());
    }
    for kind in ["FORM", "RESOURCE", "DECISION_REQUIREMENTS", "DECISION"] {
        assert_eq!(
            rig.intents(kind),
            ["CREATED", "CREATED", "DELETED", "DELETED"]
        );
    }
    let again = rig.deployed(vec![("f.form", form("f", ""))]);
    assert_eq!(again.forms[0].version, 2, "numbers are not given twice");
}
