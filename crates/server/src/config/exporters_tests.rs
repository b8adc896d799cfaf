//! Settings of exporters, as written by operators.

use super::super::{ConfigError, Loaded, resolve};
use super::*;

fn environment(name: &str, text: &str) -> Given {
    Given {
        name: name.to_string(),
        text: text.to_string(),
        source: Source::Environment(name.to_string()),
    }
}

fn loaded(given: &[Given]) -> Loaded {
    resolve(given).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(given: &[Given]) -> String {
    let ConfigError(problems) = resolve(given).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].clone()
}

fn flags(settings: &[(&str, &str)]) -> Vec<Given> {
    let flag = |(name, text): &(&str, &str)| Given::flag("--set", name, text);
    settings.iter().map(flag).collect()
}

const CLASS: (&str, &str) = (
    "camunda.data.exporters.Search.class-name",
    "io.camunda.zeebe.exporter.opensearch.OpensearchExporter",
);

/// The exporters' resulting configurations, rendered as text.
fn shown(loaded: &Loaded) -> Vec<(String, String)> {
    let exporters = loaded.settings.broker.exporters.iter();
    exporters
        .map(|one| (one.id.clone(), format!("{:?}", one.make)))
        .collect()
}

#[test]
fn the_environment_of_the_reference_is_understood() {
    let class = "io.camunda.zeebe.exporter.ElasticsearchExporter";
    let prefix = "ZEEBE_BROKER_EXPORTERS_ELASTICSEARCH";
    let given = [
        environment(&format!("{prefix}_CLASSNAME"), class),
        environment(&format!("{prefix}_ARGS_URL"), "http://a:1,http://b:2"),
        environment(&format!("{prefix}_ARGS_BULK_SIZE"), "7"),
        environment(&format!("{prefix}_ARGS_INDEX_PROCESSINSTANCE"), "false"),
        environment(&format!("{prefix}_ARGS_INDEX_USER"), "false"),
    ];
    let loaded = loaded(&given);
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let exporters = shown(&loaded);
    let (id, shown) = &exporters[0];
    assert_eq!((exporters.len(), id.as_str()), (1, "elasticsearch"));
    for part in [
        "flavor: Elasticsearch",
        r#"urls: ["http://a:1", "http://b:2"]"#,
        "size: 7",
        "without: {5, ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn several_stand_side_by_side_and_names_stay_as_they_are_written() {
    let given = flags(&[
        CLASS,
        (
            "camunda.data.exporters.Search.args.bulk.memory-limit",
            "1MB",
        ),
        ("camunda.data.exporters.Search.args.index.jobBatch", "true"),
        ("zeebe.broker.exporters.other.className", "elasticsearch"),
        ("camunda.data.export.skip-records", "5, 7"),
    ]);
    let loaded = loaded(&given);
    let exporters = shown(&loaded);
    let ids: Vec<_> = exporters.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["Search", "other"]);
    let (_, search) = &exporters[0];
    assert!(search.contains("memory_limit: 1048576"), "{search}");
    assert!(search.contains("without: {24, 34}"), "{search}");
    assert!(search.contains("skip: {5, 7}"), "{search}");
}

#[test]
fn invalid_exporter_settings_are_refused_with_the_reason() {
    let arg = |name: &str| format!("camunda.data.exporters.Search.args.{name}");
    for (name, text, said) in [
        ("url", "https://ada:x@a", "authentication.username"),
        ("bulk.size", "0", "expected a whole number"),
        ("index.prefix", "zeebe_record", "small letters"),
        (
            "index.indexSuffixDatePattern",
            "YYYY",
            "'Y' is not allowed in the pattern",
        ),
        ("includeEnabledRecords", "false", "every kind of record"),
        ("index.job", "perhaps", "expected true or false"),
        ("authentication.username", "me", "go together"),
    ] {
        let name = arg(name);
        let problem = problem(&flags(&[CLASS, (&name, text)]));
        assert!(problem.contains(said), "{name}: {problem}");
    }
    let java = [("camunda.data.exporters.x.class-name", "org.example.Mine")];
    let problem_of_java = problem(&flags(&java));
    assert!(
        problem_of_java.contains("runs no Java"),
        "{problem_of_java}"
    );
    let no_class = problem(&flags(&[("camunda.data.exporters.x.args.url", "http://a")]));
    assert!(no_class.contains("no class-name"), "{no_class}");
    let skip = problem(&flags(&[("camunda.data.export.skip-records", "five")]));
    assert!(skip.contains("positions"), "{skip}");
}

#[test]
fn an_exporter_of_secondary_storage_and_an_unknown_setting_lead_to_warnings() {
    let class = (
        "camunda.data.exporters.c.class-name",
        "io.camunda.exporter.CamundaExporter",
    );
    let unknown = ("camunda.data.exporters.Search.args.index.jobb", "true");
    let loaded = loaded(&flags(&[class, CLASS, unknown]));
    assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
    assert_eq!(shown(&loaded).len(), 1);
}

#[test]
fn what_is_said_to_be_unwritten_is_not_written() {
    for value_type in ValueType::ALL {
        let name = squeeze(value_type.name());
        assert!(!NOT_WRITTEN.contains(&&*name), "{name} has records");
    }
}
