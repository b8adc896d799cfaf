//! `camunda.data.exporters.NAME.*`: exporters of records. The names are the operator's, so these settings have a table of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use skep_exporting::search_client::Host;
use skep_exporting::{ExporterConfig, Flavor, IndexSettings, Retention, SearchSettings, Verify};
use skep_protocol::ValueType;

use super::source::{Given, Source};
use super::value::{Kind, Value, squeeze};

/// Maximum number of exporters.
const MAX_EXPORTERS: usize = 16;

/// A setting below `args`.
pub struct Arg {
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub doc: &'static str,
    set: fn(&mut Draft, Value) -> Result<(), String>,
}

macro_rules! args {
    ($($name:literal $kind:expr, $default:literal, |$draft:ident, $value:ident: $variant:ident| $set:expr; $doc:literal)*) => {
        /// In the order in which they are documented.
        pub static ARGS: &[Arg] = &[$(Arg {
            name: $name,
            kind: $kind,
            default: $default,
            doc: $doc,
            set: |$draft, value| match value {
                Value::$variant($value) => $set,
                _ => Ok(()),
            },
        }),*];
    };
}

const LIMIT: Kind = Kind::Number(1, 1_000_000);

args! {
    "url" Kind::Text, "http://localhost:9200", |draft, url: Text| draft.set_urls(&url);
        "URL of the server, http or https. Of several, separated by commas, the next one is tried if one does not answer."
    "requestTimeoutMs" Kind::Number(1, 3_600_000), "30000", |draft, millis: Number| {
        draft.settings.request_timeout = std::time::Duration::from_millis(millis);
        Ok(())
    };
        "Timeout of a request in milliseconds; it is then sent again."
    "includeEnabledRecords" Kind::Flag, "true", |_draft, all: Flag| if all { Ok(()) } else { Err("Skep exports every kind of record that index.* leaves in; leave kinds out there".to_string()) };
        "Cannot be false: every kind of record that is enabled below is exported."
    "index.prefix" Kind::Text, "zeebe-record", |draft, prefix: Text| draft.set_prefix(prefix);
        "Prefix of all index names."
    "index.createTemplate" Kind::Flag, "true", |draft, create: Flag| {
        draft.settings.index.create_template = create;
        Ok(())
    };
        "Creates the index templates."
    "index.indexSuffixDatePattern" Kind::Text, "yyyy-MM-dd", |draft, pattern: Text| {
        IndexSettings::check_pattern(&pattern).map_err(|error| error.to_string())?;
        draft.settings.index.date_pattern = pattern;
        Ok(())
    };
        "Pattern of the date at the end of index names, in UTC: each new date begins a new index."
    "index.numberOfShards" Kind::Number(1, 1024), "3", |draft, shards: Number| {
        draft.settings.index.number_of_shards = u32::try_from(shards).unwrap_or(1);
        Ok(())
    };
        "Shards of each index."
    "index.numberOfReplicas" Kind::Number(0, 100), "0", |draft, replicas: Number| {
        draft.settings.index.number_of_replicas = u32::try_from(replicas).unwrap_or(0);
        Ok(())
    };
        "Replicas of each shard."
    "index.command" Kind::Flag, "false", |draft, wanted: Flag| {
        draft.settings.index.commands = wanted;
        Ok(())
    };
        "Exports commands."
    "index.event" Kind::Flag, "true", |draft, wanted: Flag| {
        draft.settings.index.events = wanted;
        Ok(())
    };
        "Exports events."
    "index.rejection" Kind::Flag, "false", |draft, wanted: Flag| {
        draft.settings.index.rejections = wanted;
        Ok(())
    };
        "Exports rejections."
    "bulk.delay" Kind::Number(1, 3600), "5", |draft, seconds: Number| {
        draft.settings.bulk.delay = std::time::Duration::from_secs(seconds);
        Ok(())
    };
        "Maximum time in seconds that records are collected before they are sent together."
    "bulk.size" LIMIT, "1000", |draft, size: Number| {
        draft.settings.bulk.size = usize::try_from(size).unwrap_or(1000);
        Ok(())
    };
        "Number of records that are sent together."
    "bulk.memoryLimit" Kind::Bytes(1024, 1 << 30), "10MB", |draft, bytes: Number| {
        draft.settings.bulk.memory_limit = usize::try_from(bytes).unwrap_or(10 << 20);
        Ok(())
    };
        "Number of bytes that are sent together; a request exceeds it by one entry of the log at most."
    "authentication.username" Kind::Text, "", |draft, name: Text| {
        draft.username = Some(name);
        Ok(())
    };
        "User name (HTTP Basic)."
    "authentication.password" Kind::Text, "", |draft, password: Text| {
        draft.password = Some(password);
        Ok(())
    };
        "Password of the user."
    "security.certificatePath" Kind::Text, "", |draft, path: Text| {
        draft.settings.trust.certificates = Some(path.into());
        Ok(())
    };
        "For https: PEM file with the authority that signs the server's certificate, or with that certificate. Default: the authorities that the machine trusts."
    "security.verifyHostname" Kind::Flag, "true", |draft, verify: Flag| {
        draft.settings.trust.verify = if verify { Verify::ChainAndName } else { Verify::Chain };
        Ok(())
    };
        "For https: the certificate must match the name in the URL."
    "retention.enabled" Kind::Flag, "false", |draft, enabled: Flag| {
        draft.retention = enabled;
        Ok(())
    };
        "Makes the server delete old indices, by index lifecycle management (Elasticsearch) or index state management (OpenSearch)."
    "retention.minimumAge" Kind::Text, "30d", |draft, age: Text| {
        draft.policy.minimum_age = age;
        Ok(())
    };
        "Age at which an index is deleted."
    "retention.policyName" Kind::Text, "zeebe-record-retention-policy", |draft, name: Text| {
        draft.policy.policy_name = name;
        Ok(())
    };
        "Name of the policy."
}

/// Value types of the reference for which this release writes no records: switching them on or off has no effect.
const NOT_WRITTEN: [&str; 11] = [
    "agentdefinition",
    "asyncrequest",
    "checkpoint",
    "deploymentdistribution",
    "globallistenerbatch",
    "jobmetricsbatch",
    "mapping",
    "messagebatch",
    "usagemetric",
    "usagemetrics",
    "usertasks",
];

struct Draft {
    settings: SearchSettings,
    username: Option<String>,
    password: Option<String>,
    retention: bool,
    policy: Retention,
}

impl Draft {
    fn new(flavor: Flavor) -> Draft {
        Draft {
            settings: SearchSettings::new(flavor),
            username: None,
            password: None,
            retention: false,
            policy: Retention {
                minimum_age: "30d".to_string(),
                policy_name: "zeebe-record-retention-policy".to_string(),
            },
        }
    }

    fn set_urls(&mut self, text: &str) -> Result<(), String> {
        let urls: Vec<String> = text.split(',').map(|url| url.trim().to_string()).collect();
        for url in &urls {
            Host::parse(url).map_err(|error| error.to_string())?;
        }
        self.settings.urls = urls;
        Ok(())
    }

    fn set_prefix(&mut self, prefix: String) -> Result<(), String> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        if !prefix.chars().all(allowed) || prefix.starts_with(['-', '.']) {
            return Err(
                "an index's name has small letters, digits, '-' and '.', and begins with a letter or digit; '_' stands between \
                 the parts of the name"
                    .to_string(),
            );
        }
        self.settings.index.prefix = prefix;
        Ok(())
    }

    fn finish(mut self, skip: &BTreeSet<u64>) -> Result<SearchSettings, String> {
        self.settings.login = match (self.username, self.password) {
            (Some(name), Some(password)) => Some((name, password)),
            (None, None) => None,
            _ => {
                return Err(
                    "authentication.username and authentication.password go together".to_string(),
                );
            }
        };
        self.settings.retention = self.retention.then_some(self.policy);
        self.settings.skip.clone_from(skip);
        Ok(self.settings)
    }
}

/// The given settings of exporters.
#[derive(Default)]
pub struct Exporters<'g> {
    /// By name; later values win.
    by_name: BTreeMap<String, Vec<(String, &'g Given)>>,
    skip: Vec<&'g Given>,
}

impl<'g> Exporters<'g> {
    /// Takes a setting, if it belongs to an exporter.
    pub fn take(&mut self, given: &'g Given) -> bool {
        let plain = given.name.split('[').next().unwrap_or_default();
        let plain = Given {
            name: plain.to_string(),
            ..given.clone()
        };
        let skips = [
            "camunda.data.export.skip-records",
            "zeebe.broker.exporting.skipRecords",
        ];
        if skips.iter().any(|name| plain.matches(name)) {
            self.skip.push(given);
            return true;
        }
        let Some((name, rest)) = split(given) else {
            return false;
        };
        self.by_name.entry(name).or_default().push((rest, given));
        true
    }

    /// Builds the exporters; faults are added to `problems`.
    pub fn finish(
        self,
        broker_version: &str,
        warnings: &mut Vec<String>,
        problems: &mut Vec<String>,
    ) -> Vec<ExporterConfig> {
        let mut skip = BTreeSet::new();
        for given in &self.skip {
            for part in given.text.split(',').map(str::trim) {
                match part.parse() {
                    Ok(position) => drop(skip.insert(position)),
                    Err(_) if part.is_empty() => {}
                    Err(_) => problems.push(format!(
                        "{} = '{}' ({}): expected positions of records",
                        given.name, given.text, given.source
                    )),
                }
            }
        }
        let mut exporters = Vec::new();
        for (id, settings) in &self.by_name {
            if let Some(mut settings) = exporter(id, settings, &skip, warnings, problems) {
                settings.broker_version = broker_version.to_string();
                exporters.push(ExporterConfig {
                    id: id.clone(),
                    make: Arc::new(settings),
                });
            }
        }
        if exporters.len() > MAX_EXPORTERS {
            problems.push(format!(
                "camunda.data.exporters: there are {}, but at most {MAX_EXPORTERS} are allowed",
                exporters.len()
            ));
        }
        exporters
    }
}

fn exporter(
    id: &str,
    given: &[(String, &Given)],
    skip: &BTreeSet<u64>,
    warnings: &mut Vec<String>,
    problems: &mut Vec<String>,
) -> Option<SearchSettings> {
    let class = given.iter().rev().find(|(rest, _)| rest == "classname");
    let Some((_, class)) = class else {
        problems.push(format!(
            "camunda.data.exporters.{id} has settings but no class-name. Supported are io.camunda.zeebe.exporter.ElasticsearchExporter \
             and io.camunda.zeebe.exporter.opensearch.OpensearchExporter"
        ));
        return None;
    };
    let flavor = match class.text.rsplit('.').next().unwrap_or_default() {
        "ElasticsearchExporter" | "elasticsearch" => Flavor::Elasticsearch,
        "OpensearchExporter" | "opensearch" => Flavor::Opensearch,
        "CamundaExporter" | "RdbmsExporter" => {
            warnings.push(format!(
                "{} = '{}' ({}) has no effect: searchable data is kept as camunda.data.secondary-storage.* configure",
                class.name, class.text, class.source
            ));
            return None;
        }
        _ => {
            problems.push(format!(
                "{} = '{}' ({}): Skep runs no Java; expected io.camunda.zeebe.exporter.ElasticsearchExporter or \
                 io.camunda.zeebe.exporter.opensearch.OpensearchExporter",
                class.name, class.text, class.source
            ));
            return None;
        }
    };
    let mut draft = Draft::new(flavor);
    for (rest, given) in given.iter().filter(|(rest, _)| rest != "classname") {
        match set(&mut draft, rest, given) {
            Ok(true) => {}
            Ok(false) => warnings.push(format!(
                "{} ({}) is unknown or not supported by this version: it has no effect",
                given.name, given.source
            )),
            Err(reason) => problems.push(format!(
                "{} = '{}' ({}): {reason}",
                given.name,
                // It may be a list of URLs with passwords.
                Kind::List.show(&Value::Text(given.text.clone())),
                given.source
            )),
        }
    }
    match draft.finish(skip) {
        Ok(settings) => Some(settings),
        Err(reason) => {
            problems.push(format!("camunda.data.exporters.{id}: {reason}"));
            None
        }
    }
}

/// Returns false if there is no such setting.
fn set(draft: &mut Draft, rest: &str, given: &Given) -> Result<bool, String> {
    let is_bare = matches!(given.source, Source::Environment(_));
    let same = |name: &str| {
        let mut name = squeeze(name);
        if is_bare {
            name.retain(|c| c != '.');
        }
        format!("args{}{name}", if is_bare { "" } else { "." }) == rest
    };
    if given.text.is_empty() {
        // An empty environment variable means "not set".
        return Ok(true);
    }
    if let Some(arg) = ARGS.iter().find(|arg| same(arg.name)) {
        let value = arg.kind.parse(&given.text);
        let value = value.ok_or_else(|| format!("expected {}", arg.kind.expected()))?;
        (arg.set)(draft, value)?;
        return Ok(true);
    }
    let named = |value_type: &&ValueType| {
        let name = value_type.name().replace('_', "");
        same(&format!("index.{name}"))
    };
    let value_type = ValueType::ALL.iter().find(named);
    let is_not_written = NOT_WRITTEN
        .iter()
        .any(|name| same(&format!("index.{name}")));
    if value_type.is_none() && !is_not_written {
        return Ok(false);
    }
    let Some(Value::Flag(wanted)) = Kind::Flag.parse(&given.text) else {
        return Err(format!("expected {}", Kind::Flag.expected()));
    };
    if let Some(value_type) = value_type {
        let without = &mut draft.settings.index.without;
        if wanted {
            without.remove(&(*value_type as u8))
        } else {
            without.insert(*value_type as u8)
        };
    }
    Ok(true)
}

/// The name of the exporter and of its setting, normalized for comparison. In the environment dots do not count.
fn split(given: &Given) -> Option<(String, String)> {
    if let Source::Environment(_) = given.source {
        let name = given.name.to_ascii_lowercase();
        let rest = ["camunda_data_exporters_", "zeebe_broker_exporters_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))?;
        let ends = ["_classname", "_jarpath", "_args_"];
        let at = ends.iter().filter_map(|end| rest.find(end)).min()?;
        let (id, rest) = rest.split_at_checked(at)?;
        return Some((id.to_string(), rest.replace('_', "")));
    }
    let name = squeeze(&given.name);
    let prefixes = ["camunda.data.exporters.", "zeebe.broker.exporters."];
    let below = prefixes.iter().find(|prefix| name.starts_with(**prefix))?;
    // Keep the operator's spelling of the exporter's name.
    let segments = below.matches('.').count();
    let id = given.name.split('.').nth(segments)?;
    let rest = name.split('.').skip(segments + 1);
    let rest: Vec<&str> = rest.collect();
    (!rest.is_empty()).then(|| (id.to_string(), rest.join(".")))
}

#[cfg(test)]
#[path = "exporters_tests.rs"]
mod tests;
