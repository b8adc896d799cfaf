//! Precedence, spelling and errors.

use std::path::{Path, PathBuf};

use super::*;

fn file(name: &str, text: &str) -> Given {
    let source = Source::File {
        path: PathBuf::from("application.yaml"),
        line: 7,
    };
    Given {
        name: name.to_string(),
        text: text.to_string(),
        source,
    }
}

fn variable(name: &str, text: &str) -> Given {
    Given {
        name: name.to_string(),
        text: text.to_string(),
        source: Source::Environment(name.to_string()),
    }
}

fn flag(name: &str, text: &str) -> Given {
    Given::flag("--set", name, text)
}

fn value_of<'a>(loaded: &'a Loaded, name: &str) -> &'a Effective {
    loaded.effective.iter().find(|e| e.name == name).unwrap()
}

#[test]
fn the_later_source_wins() {
    const NAME: &str = "camunda.cluster.partition-count";
    let (in_file, in_environment, in_flag) = (
        file(NAME, "2"),
        variable("CAMUNDA_CLUSTER_PARTITIONCOUNT", "3"),
        flag(NAME, "4"),
    );
    for (given, partitions, source) in [
        (vec![], 1, "default"),
        (vec![in_file.clone()], 2, "application.yaml line 7"),
        (
            vec![in_file.clone(), in_environment.clone()],
            3,
            "environment variable CAMUNDA_CLUSTER_PARTITIONCOUNT",
        ),
        (vec![in_file, in_environment, in_flag], 4, "flag --set"),
    ] {
        let loaded = resolve(&given).unwrap();
        assert_eq!(loaded.settings.broker.partitions, partitions);
        assert_eq!(value_of(&loaded, NAME).source.to_string(), source);
        assert_eq!(loaded.warnings, Vec::<String>::new());
    }
}

#[test]
fn every_spelling_of_a_name_is_the_same_setting() {
    let spellings = [
        file("camunda.api.grpc.max-message-size", "8MB"),
        file("camunda.api.grpc.maxMessageSize", "8192KB"),
        file("camunda.api.grpc.MAXMESSAGESIZE", "8388608"),
        file("zeebe.broker.gateway.network.maxMessageSize", "8MB"),
        variable("CAMUNDA_API_GRPC_MAXMESSAGESIZE", "8MB"),
        variable("CAMUNDA_API_GRPC_MAX_MESSAGE_SIZE", "8MB"),
        variable("ZEEBE_BROKER_GATEWAY_NETWORK_MAXMESSAGESIZE", "8MB"),
    ];
    for given in spellings {
        let loaded = resolve(std::slice::from_ref(&given)).unwrap();
        assert_eq!(
            loaded.settings.gateway.max_message_size,
            8 << 20,
            "{}",
            given.name
        );
        assert_eq!(loaded.settings.broker_config().max_message_size, 8 << 20);
    }
}

#[test]
fn an_old_name_alone_counts_with_a_warning() {
    let loaded = resolve(&[variable("ZEEBE_BROKER_DATA_DIRECTORY", "/d")]).unwrap();
    assert_eq!(loaded.settings.broker.directory, Path::new("/d"));
    assert_eq!(
        loaded.warnings,
        [
            "ZEEBE_BROKER_DATA_DIRECTORY (environment variable ZEEBE_BROKER_DATA_DIRECTORY) is an old name; \
             it is now camunda.data.primary-storage.directory"
        ]
    );
}

#[test]
fn an_old_and_a_new_name_must_agree() {
    let new = file("camunda.data.snapshot-period", "5m");
    let same = variable("ZEEBE_BROKER_DATA_SNAPSHOTPERIOD", "PT5M");
    assert!(resolve(&[new.clone(), same]).is_ok());
    let other = variable("ZEEBE_BROKER_DATA_SNAPSHOTPERIOD", "1m");
    let error = resolve(&[new.clone(), other.clone()])
        .unwrap_err()
        .to_string();
    for part in [
        "camunda.data.snapshot-period = '5m' (application.yaml line 7)",
        "ZEEBE_BROKER_DATA_SNAPSHOTPERIOD = '1m'",
        "different values",
    ] {
        assert!(error.contains(part), "{part} not in {error}");
    }
    // A flag takes precedence over everything else.
    let flagged = resolve(&[new, other, flag("camunda.data.snapshot-period", "2m")]).unwrap();
    assert_eq!(flagged.settings.broker.snapshot_period.as_secs(), 120);
}

#[test]
fn secrets_that_disagree_are_not_shown() {
    let name = "camunda.data.primary-storage.backup.s3.secret-key";
    let given = [
        file(name, "hush"),
        variable("ZEEBE_BROKER_DATA_BACKUP_S3_SECRETKEY", "shush"),
    ];
    let error = resolve(&given).unwrap_err().to_string();
    assert!(error.contains("different values"), "{error}");
    assert!(!error.contains("hush"), "{error}");
}

#[test]
fn passwords_in_addresses_are_shown_nowhere() {
    const CLASS: (&str, &str) = ("camunda.data.exporters.e.class-name", "elasticsearch");
    for (name, text) in [
        (
            "camunda.data.secondary-storage.rdbms.url",
            "jdbc:mysql://u:hush@h/d",
        ),
        (
            "camunda.data.secondary-storage.rdbms.url",
            "jdbc:oracle:thin:u/hush@h",
        ),
        (
            "camunda.data.secondary-storage.elasticsearch.url",
            "https://u:hush@h",
        ),
        (
            "camunda.data.secondary-storage.opensearch.url",
            "ftp://u:hush@h",
        ),
        ("camunda.data.exporters.e.args.url", "http://u:hush@h"),
        ("camunda.data.exporters.e.args.url", "ftp://u:hush@h"),
        (
            "camunda.data.exporters.e.args.url",
            "http://a,http://u:hu sh@h",
        ),
        ("skep.tracing.otlp-endpoint", "http://u:hush@h:4318"),
        ("skep.tracing.otlp-endpoint", "https://u:hush@h:4318"),
    ] {
        let given = [flag(CLASS.0, CLASS.1), flag(name, text)];
        let said = match resolve(&given) {
            Ok(loaded) => docs::listing(&loaded.effective),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(name), "{name} = {text}: {said}");
        assert!(
            !said.contains("hush") && !said.contains("hu sh"),
            "{name} = {text}: {said}"
        );
    }
}

#[test]
fn a_value_that_cannot_be_names_key_value_source_and_expectation() {
    for (given, expected) in [
        (
            file("server.port", "eighty"),
            "server.port = 'eighty' (application.yaml line 7): expected a whole number from 0 to 65535",
        ),
        (
            variable("CAMUNDA_DATA_SNAPSHOTPERIOD", "5 minutes"),
            "CAMUNDA_DATA_SNAPSHOTPERIOD = '5 minutes' (environment variable CAMUNDA_DATA_SNAPSHOTPERIOD): expected a time span",
        ),
        (
            flag("camunda.processing.flow-control.request.algorithm", "best"),
            "(flag --set): expected one of aimd, fixed, vegas, gradient, gradient2, legacy-vegas",
        ),
        (
            file(
                "camunda.data.primary-storage.log-stream.log-segment-size",
                "1KB",
            ),
            "expected a size from 1MB to 1GB",
        ),
        (
            file("camunda.cluster.size", "9"),
            "expected a whole number from 1 to 7",
        ),
        (file("skep.log.level", "loud"), "expected a log level"),
        (
            file("server.address", "localhost"),
            "expected an IP address",
        ),
        (
            file("camunda.system.clock-controlled", "maybe"),
            "expected true or false",
        ),
    ] {
        let error = resolve(std::slice::from_ref(&given))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{expected} not in {error}");
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let error = resolve(&[
        file("server.port", "x"),
        file("camunda.cluster.node-id", "-1"),
    ])
    .unwrap_err();
    assert_eq!(error.0.len(), 2);
}

#[test]
fn settings_that_contradict_each_other_stop_the_start() {
    let space = "camunda.data.primary-storage.disk.free-space.";
    let same = [
        file(&format!("{space}processing"), "1GB"),
        file(&format!("{space}replication"), "1GB"),
    ];
    let limits = [
        file(
            "camunda.processing.flow-control.request.aimd.min-limit",
            "10",
        ),
        file(
            "camunda.processing.flow-control.request.aimd.max-limit",
            "5",
        ),
    ];
    let ports = [
        file("server.port", "9000"),
        file("management.server.port", "9000"),
    ];
    let share = [
        file("skep.tenants.in-flight-share", "0.5"),
        file("camunda.security.multi-tenancy.checks-enabled", "false"),
    ];
    for (given, expected) in [
        (share, "those of one tenant"),
        (same, "must be less than"),
        (limits, "aimd.min-limit"),
        (
            ports,
            "server.port and management.server.port are both 9000",
        ),
    ] {
        let error = resolve(&given).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn backups_may_be_continuous_with_every_kind_of_secondary_storage() {
    for (kind, url) in [
        ("rdbms", "jdbc:postgresql://h/d"),
        ("opensearch", "http://h:9200"),
        ("elasticsearch", "http://h:9200"),
    ] {
        let backup = "camunda.data.primary-storage.backup.";
        let secondary = "camunda.data.secondary-storage.";
        let given = [
            flag(&format!("{backup}store"), "FILESYSTEM"),
            flag(&format!("{backup}filesystem.base-path"), "/mnt/backups"),
            flag(&format!("{backup}continuous"), "true"),
            flag(&format!("{secondary}type"), kind),
            flag(&format!("{secondary}{kind}.url"), url),
        ];
        let loaded = resolve(&given).unwrap();
        assert!(loaded.settings.backup.continuous, "{kind}");
    }
}

#[test]
fn the_share_of_a_tenant_is_that_of_a_limit() {
    const SHARE: &str = "skep.tenants.in-flight-share";
    let with = |share: &str| {
        resolve(&[
            flag(SHARE, share),
            flag("camunda.security.multi-tenancy.checks-enabled", "true"),
            flag("camunda.security.authentication.method", "basic"),
        ])
    };
    let loaded = with("0.25").unwrap();
    assert!(
        (loaded.settings.broker_config().flow_control.tenant_share - 0.25).abs() < f64::EPSILON
    );
    for share in ["0", "1.1", "-1", "a half"] {
        assert!(with(share).unwrap_err().to_string().contains(SHARE));
    }
    let alone = resolve(&[flag(SHARE, "1")]).unwrap();
    assert_eq!(value_of(&alone, SHARE).value, "1");
}

#[test]
fn unknown_names_are_named_and_do_no_harm() {
    for (given, expected) in [
        (
            file("camunda.cluster.partitions-count", "3"),
            Some("Did you mean camunda.cluster.partition-count?"),
        ),
        (
            variable("CAMUNDA_CLUSTER_PARTITIONSCOUNT", "3"),
            Some("Did you mean CAMUNDA_CLUSTER_PARTITIONCOUNT?"),
        ),
        (
            file("camunda.data.secondary-storage.elasticsearch.no-such", "es"),
            Some("it has no effect"),
        ),
        (file("spring.profiles.active", "broker"), None),
        (flag("no.such.name", "1"), Some("no.such.name (flag --set)")),
    ] {
        let loaded = resolve(std::slice::from_ref(&given)).unwrap();
        match expected {
            Some(expected) => {
                assert_eq!(loaded.warnings.len(), 1);
                assert!(
                    loaded.warnings[0].contains(expected),
                    "{:?}",
                    loaded.warnings
                );
            }
            None => assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings),
        }
    }
}

#[test]
fn names_of_others_count_when_nothing_else_is_given() {
    let rust_log = variable("RUST_LOG", "debug");
    let loaded = resolve(std::slice::from_ref(&rust_log)).unwrap();
    assert_eq!(loaded.settings.log_level, "debug");
    let both = resolve(&[file("skep.log.level", "warn"), rust_log]).unwrap();
    assert_eq!(both.settings.log_level, "warn");
}

#[test]
fn every_setting_can_be_given_in_the_environment() {
    let names = KEYS
        .iter()
        .flat_map(|key| std::iter::once(&key.name).chain(key.old).chain(key.also));
    // Variables of documents have names of their own, which `documents` tests.
    let names: Vec<&str> = names
        .copied()
        .filter(|name| !name.starts_with("document."))
        .collect();
    let variables = names.iter().map(|name| docs::environment_name(name));
    for (variable, name) in variables.zip(&names) {
        let given = source::environment(std::iter::once((variable.clone(), "x".to_string())));
        assert!(
            given.first().is_some_and(|given| given.matches(name)),
            "{variable} is ignored"
        );
    }
}

#[test]
fn an_empty_variable_is_not_set() {
    let loaded = resolve(&[variable("SERVER_PORT", "")]).unwrap();
    assert_eq!(loaded.settings.rest.port, 8080);
}

#[test]
fn every_setting_reaches_its_place() {
    // Setting the text of the default changes nothing, and the text of a value parses to that value.
    for key in KEYS {
        let mut settings = Settings::default();
        let shown = key.kind.show(&(key.get)(&settings));
        if shown.is_empty() {
            (key.set)(&mut settings, Value::Text("x".to_string()));
            assert_eq!((key.get)(&settings), Value::Text("x".to_string()));
            continue;
        }
        let value = key.kind.parse(&shown);
        assert!(
            value.is_some(),
            "{} cannot be its default {shown}",
            key.name
        );
        if let Some(value) = value {
            (key.set)(&mut settings, value);
        }
        assert_eq!(key.kind.show(&(key.get)(&settings)), shown, "{}", key.name);
    }
}

#[test]
fn no_two_settings_share_a_name() {
    let mut names: Vec<String> = KEYS
        .iter()
        .flat_map(|key| std::iter::once(&key.name).chain(key.old).chain(key.also))
        .map(|name| squeeze(name).replace('.', ""))
        .collect();
    names.sort();
    let mut unique = names.clone();
    unique.dedup();
    assert_eq!(names, unique);
}

#[test]
fn a_file_of_a_deployment_bounds_the_deployment() {
    let loaded = resolve(&[file("spring.servlet.multipart.maxFileSize", "2MB")]).unwrap();
    assert_eq!(loaded.settings.gateway_config().multipart.max_size, 2 << 20);
}

#[test]
fn the_port_offset_moves_every_port_by_tens() {
    let offset = file("zeebe.broker.network.portOffset", "5");
    let settings = resolve(&[offset, flag("management.server.port", "0")])
        .unwrap()
        .settings;
    let ports = [
        settings.rest.port,
        settings.grpc.port,
        settings.management.port,
    ];
    assert_eq!(ports, [8130, 26550, 0], "a free port stays one");
    assert_eq!(settings.broker.advertised.port, 26551);
    let ConfigError(problems) =
        resolve(&[flag("camunda.cluster.network.port-offset", "6000")]).unwrap_err();
    assert!(problems[0].contains("is above 65535"), "{problems:?}");
}

#[test]
fn the_network_message_size_bounds_requests_and_when_it_is_lowered_deployments() {
    let bounds = |given: &[Given]| {
        let gateway = resolve(given).unwrap().settings.gateway_config();
        (
            gateway.max_message_size >> 20,
            gateway.multipart.max_size >> 20,
        )
    };
    assert_eq!(bounds(&[]), (4, 10));
    let interface = flag("camunda.api.grpc.max-message-size", "8MB");
    let network = |size| flag("camunda.cluster.network.max-message-size", size);
    assert_eq!(bounds(std::slice::from_ref(&interface)), (4, 10));
    assert_eq!(bounds(&[interface, network("16MB")]), (8, 10));
    assert_eq!(bounds(&[network("2MB")]), (2, 2));
}

#[test]
fn a_ping_interval_of_zero_lets_all_pings_pass() {
    let interval = |given: &[Given]| {
        let settings = resolve(given).unwrap().settings;
        settings
            .gateway_config()
            .min_ping_interval
            .map(|time| time.as_secs())
    };
    assert_eq!(interval(&[]), Some(30));
    assert_eq!(
        interval(&[file(
            "zeebe.broker.gateway.network.minKeepAliveInterval",
            "1m"
        )]),
        Some(60)
    );
    assert_eq!(
        interval(&[flag("camunda.api.grpc.min-keep-alive-interval", "0")]),
        None
    );
}

#[test]
fn a_setting_that_means_nothing_here_says_why() {
    let given = variable("CAMUNDA_API_REST_EXECUTOR_COREPOOLSIZEMULTIPLIER", "2");
    let warnings = resolve(&[given]).unwrap().warnings;
    assert!(
        warnings[0].contains("has no effect: requests do not have threads of their own"),
        "{warnings:?}"
    );
}

#[test]
fn contact_points_are_a_list_in_every_source() {
    let name = "camunda.cluster.initial-contact-points";
    let points = |given: &[Given]| resolve(given).unwrap().settings.cluster.contact_points;
    assert!(points(&[]).is_empty());
    let plain = points(&[file(name, "a:1, b:2,")]);
    assert_eq!(plain, ["a:1", "b:2"]);
    let list = [
        file(&format!("{name}[0]"), "a:1"),
        file(&format!("{name}[1]"), "b:2"),
    ];
    assert_eq!(points(&list), plain);
    let variables = [
        variable("CAMUNDA_CLUSTER_INITIALCONTACTPOINTS_0", "c:1"),
        variable("CAMUNDA_CLUSTER_INITIALCONTACTPOINTS_1", "d:2"),
    ];
    assert_eq!(points(&variables), ["c:1", "d:2"]);
    let all: Vec<Given> = list.into_iter().chain(variables).collect();
    let strongest = points(&all);
    assert!(
        strongest.ends_with(&["c:1".to_string(), "d:2".to_string()]),
        "{strongest:?}"
    );
    let old = [variable("ZEEBE_BROKER_CLUSTER_INITIALCONTACTPOINTS", "e:1")];
    assert_eq!(points(&old), ["e:1"]);
}

#[test]
fn a_cluster_that_this_version_cannot_form_is_refused_with_the_reason() {
    let cluster = |key: &str, text: &str| file(&format!("camunda.cluster.{key}"), text);
    let three = [
        cluster("size", "3"),
        cluster("replication-factor", "3"),
        cluster("initial-contact-points", "a:26502"),
        cluster("node-id", "2"),
    ];
    let broker = resolve(&three).unwrap().settings.broker_config();
    let config = broker.cluster.unwrap();
    assert_eq!((config.size, &*config.advertised), (3, "localhost:26502"));
    assert!(
        resolve(&[])
            .unwrap()
            .settings
            .broker_config()
            .cluster
            .is_none()
    );
    for (change, expected) in [
        (cluster("replication-factor", "4"), "more copies than nodes"),
        (cluster("node-id", "3"), "have the numbers 0 to 2"),
        (
            cluster("initial-contact-points", ""),
            "initial-contact-points is empty",
        ),
        (
            cluster("network.transport-layer-security.cluster.enabled", "true"),
            "neither .key-store.file-path nor both of .certificate-chain-path and .certificate-private-key-path",
        ),
        (
            cluster("network.internal-api.port", "8080"),
            "are both 8080",
        ),
    ] {
        let mut given = three.to_vec();
        given.push(change);
        let error = resolve(&given).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected} not in {error}");
    }
    let tls = |key: &str, text: &str| {
        cluster(
            &format!("network.transport-layer-security.cluster.{key}"),
            text,
        )
    };
    let mut stored = three.to_vec();
    stored.push(tls("enabled", "true"));
    stored.push(tls("key-store.file-path", "node.p12"));
    resolve(&stored).unwrap();
    stored.push(tls("certificate-chain-path", "node.pem"));
    let error = resolve(&stored).unwrap_err().to_string();
    assert!(error.contains("give one of the two"), "{error}");
}

#[test]
fn the_categories_of_the_audit_log_are_configurable() {
    const NAME: &str = "camunda.data.audit-log.unknown.categories";
    let loaded = resolve(&[]).unwrap();
    assert_eq!(value_of(&loaded, NAME).value, "none");
    let of_users = "camunda.data.audit-log.user.categories";
    let all = "ADMIN,DEPLOYED_RESOURCES,USER_TASKS";
    assert_eq!(value_of(&loaded, of_users).value, all);
    let item = |at: usize, text: &str| file(&format!("{NAME}[{at}]"), text);
    for given in [
        vec![file(NAME, "admin, user-tasks")],
        vec![item(0, "ADMIN"), item(1, "userTasks")],
        vec![
            item(0, "DEPLOYED_RESOURCES"),
            item(0, "ADMIN"),
            item(1, "USER_TASKS"),
        ],
    ] {
        let loaded = resolve(&given).unwrap();
        assert_eq!(value_of(&loaded, NAME).value, "ADMIN,USER_TASKS");
        assert_eq!(loaded.warnings, Vec::<String>::new());
    }
    let none = resolve(&[file(of_users, "none")]).unwrap();
    assert_eq!(none.settings.secondary.audit.user.categories, "");
    let wrong = resolve(&[file(NAME, "ADMIN,TASKS")]).unwrap_err();
    let said = "expected none, or any of ADMIN, DEPLOYED_RESOURCES, USER_TASKS";
    assert!(wrong.to_string().contains(said), "{wrong}");
}

/// `NAME: "value"` in upper case, anywhere on a line.
fn in_compose_file(text: &str) -> Vec<(String, String)> {
    let words = text
        .split(['{', ',', '\n', '}'])
        .filter(|word| !word.trim().starts_with('#'));
    let settings = words.filter_map(|word| {
        let (name, value) = word.trim().split_once(": \"")?;
        let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        is_name.then(|| (name.to_string(), value.trim_end_matches('"').to_string()))
    });
    settings.collect()
}

#[test]
fn the_compose_file_of_a_cluster_names_settings_that_there_are() {
    let text = include_str!("../../../../deploy/compose/cluster.yaml");
    let (shared, nodes) = text.split_once("services:").unwrap();
    let nodes = in_compose_file(nodes);
    assert_eq!(nodes.len(), 6);
    for (number, own) in nodes.chunks(2).enumerate() {
        // The first of the node's settings suffice here.
        let given = in_compose_file(shared).into_iter().chain(own.to_vec());
        let given: Vec<Given> = given.map(|(name, text)| variable(&name, &text)).collect();
        assert!(given.len() >= 6);
        let loaded = resolve(&given).unwrap();
        assert_eq!(loaded.warnings, Vec::<String>::new());
        let broker = loaded.settings.broker_config();
        let cluster = broker.cluster.unwrap();
        assert_eq!((broker.node_id as usize, cluster.size), (number, 3));
        assert_eq!(cluster.advertised, format!("node-{number}:26502"));
    }
}

#[test]
fn a_search_server_is_secondary_storage_with_the_settings_of_its_type() {
    let key = |name: &str| format!("camunda.data.secondary-storage.{name}");
    let with = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(name, text)| file(&key(name), text));
        resolve(&given.collect::<Vec<Given>>())
    };
    for kind in ["elasticsearch", "opensearch"] {
        let urls = format!("{kind}.urls");
        let loaded = with(&[("type", kind), (&urls, "http://a:1, https://b")]).unwrap();
        let config = loaded.settings.broker_config().secondary_storage.unwrap();
        let skep_secondary::StoreLocation::Documents(server) = config.location else {
            panic!("{kind}: {:?}", config.location);
        };
        assert_eq!(server.shown, "http://a:1, https://b");
        for (name, text, said) in [
            ("url", "nowhere", "expected the address"),
            ("index-prefix", "Team", "index-prefix: 'Team'"),
        ] {
            let name = format!("{kind}.{name}");
            let problems = with(&[("type", kind), (&name, text)]).unwrap_err();
            let problems = format!("{problems:?}");
            assert!(
                problems.contains(said) && problems.contains(kind),
                "{problems}"
            );
        }
    }
    // Settings of a type that is not selected do no harm.
    assert!(with(&[("opensearch.url", "nowhere")]).is_ok());
}
