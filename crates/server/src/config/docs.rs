//! The table of settings as text: docs/configuration.md, and the output of `skep config`.

use super::exporters::ARGS;
use super::security::{FIELDS, List};
use super::table::KEYS;
use super::without_effect::WITHOUT_EFFECT;
use super::{Effective, Settings};

const INTRODUCTION: &str = "# Configuration

Skep runs without any configuration. Each setting below can be given in four places; the later one wins:

1. the built-in default,
2. a YAML file: `config/application.yaml` in the working directory if there is one, then each `--config FILE` in turn,
3. the environment: the name in upper case, dots as underscores, dashes left out,
   so that `camunda.cluster.partition-count` is `CAMUNDA_CLUSTER_PARTITIONCOUNT`,
4. flags of `skep serve`: the ones that `skep serve --help` lists, or `--set NAME=VALUE` for any setting.

`skep config` (with the same flags) prints every setting with its value and where the value comes from.

Spelling is relaxed: `max-message-size`, `maxMessageSize` and `MAXMESSAGESIZE` are one name. Sizes take `B`, `KB`, `MB` and
`GB` (powers of 1024), time spans `ms`, `s`, `m`, `h`, `d` or ISO 8601 (`PT15S`); a plain number is bytes or milliseconds.

Names of older releases still work, with a warning; if the old and the new name have different values, the server does not
start. It does not start with an invalid value either; the error says which value it is, where it was given and what is expected.
A name that is unknown or not supported has no effect and is named in a warning; if it would protect something (below
`camunda.security`, or for TLS), the server does not start.

A YAML file may have several documents (`---`); one with `spring.config.activate.on-profile` applies if that profile is active
(`spring.profiles.active` in a file, the environment or a flag; `!name`, `a & b` and `a | b` are understood). In every value
`${NAME}` stands for an environment variable or another setting, and `${NAME:default}` has a default; without either the server
does not start.

| Setting | Default | What it does | Older names |
|---|---|---|---|
";

/// docs/configuration.md.
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_string();
    settings(&mut text);
    text.push_str(EXPORTERS);
    for arg in ARGS {
        let default = match arg.default {
            "" => "–".to_string(),
            default => format!("`{default}`"),
        };
        text.push_str(&format!(
            "| `{}` | {default} | {} Expects {}. |\n",
            arg.name,
            arg.doc,
            arg.kind.expected()
        ));
    }
    text.push_str(DOCUMENTS);
    for setting in super::documents::SETTINGS {
        text.push_str(&format!(
            "| `{}` | {} Expects {}. |\n",
            setting.name,
            setting.doc,
            setting.kind.expected()
        ));
    }
    providers(&mut text);
    initialization(&mut text);
    text.push_str(WITHOUT);
    for setting in WITHOUT_EFFECT {
        let names: Vec<String> = setting
            .names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        text.push_str(&format!("| {} | {} |\n", names.join(" "), setting.reason));
    }
    text
}

/// The table of all settings.
fn settings(text: &mut String) {
    let defaults = Settings::default();
    for key in KEYS {
        let default = match key.name {
            // Depends on the machine.
            "skep.runtime.worker-threads" => "processors".to_string(),
            name => {
                let follows = defaults.security.shown(name);
                match follows.unwrap_or_else(|| key.kind.show(&(key.get)(&defaults))) {
                    none if none.is_empty() => "–".to_string(),
                    value => format!("`{value}`"),
                }
            }
        };
        let others: Vec<String> = key
            .old
            .iter()
            .chain(key.also)
            .map(|name| format!("`{name}`"))
            .collect();
        text.push_str(&format!(
            "| `{}` | {default} | {} Expects {}. | {} |\n",
            key.name,
            key.doc,
            key.kind.expected(),
            others.join(" ")
        ));
    }
}

/// The table of settings of an identity provider.
fn providers(text: &mut String) {
    text.push_str(PROVIDERS);
    for field in FIELDS {
        let default = match field.default {
            "" => "–".to_string(),
            default => format!("`{default}`"),
        };
        text.push_str(&format!(
            "| `{}` | {default} | {} Expects {}. |\n",
            field.name,
            field.doc,
            field.kind.expected()
        ));
    }
}

/// The lists of initial entities.
fn initialization(text: &mut String) {
    text.push_str(INITIALIZATION);
    for list in List::ALL {
        let fields: Vec<String> = list
            .fields()
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        text.push_str(&format!(
            "| `{}[NUMBER]` | {} |\n",
            list.name(),
            fields.join(", ")
        ));
    }
}

const EXPORTERS: &str = "
## Exporters of records

Several exporters can run, each under a name that you choose: `camunda.data.exporters.NAME.class-name` (before:
`zeebe.broker.exporters.NAME.className`) is `io.camunda.zeebe.exporter.ElasticsearchExporter` or
`io.camunda.zeebe.exporter.opensearch.OpensearchExporter`, and the settings are below `camunda.data.exporters.NAME.args.`. As
environment variables: `CAMUNDA_DATA_EXPORTERS_NAME_CLASSNAME`, `CAMUNDA_DATA_EXPORTERS_NAME_ARGS_BULK_SIZE`.

Besides the settings below there is one switch for each value type, for example `index.processInstance`. All are on except
`index.jobBatch`, `index.processEvent` and `index.processInstanceBatch`. Records at the positions in
`camunda.data.export.skip-records` (separated by commas) are not exported.

| Setting | Default | What it does |
|---|---|---|
";

const DOCUMENTS: &str = "
## Stores of documents

Any number of stores can be configured, each under an id that you choose: `DOCUMENT_STORE_ID_CLASS`, `DOCUMENT_STORE_ID_BUCKET` …
in the environment, `camunda.document.store.ID.class` … in files. Without configuration there are two: `local`, the directory
`documents` in the data directory, and `inmemory`. See [operations.md](operations.md#documents).

| Setting | What it does |
|---|---|
";

const PROVIDERS: &str = "
## Identity providers

With `camunda.security.authentication.method: oidc` callers present tokens of an identity provider (OpenID Connect), which is configured
below `camunda.security.authentication.oidc`. Up to 16 providers can be configured, each below
`camunda.security.authentication.providers.oidc.NAME` under a name that you choose; a token belongs to the provider whose `issuer-uri` it
names, and that provider's audiences and claims apply. As environment variables: `CAMUNDA_SECURITY_AUTHENTICATION_OIDC_ISSUERURI`,
`CAMUNDA_SECURITY_AUTHENTICATION_PROVIDERS_OIDC_NAME_ISSUERURI`. See [security.md](security.md#tokens-of-an-identity-provider).

| Setting | Default | What it does |
|---|---|---|
";

const INITIALIZATION: &str = "
## Users, roles and rights at the start

The lists below `camunda.security.initialization` name the entities that are created at startup if they do not exist; in the environment
their entries are numbered: `CAMUNDA_SECURITY_INITIALIZATION_USERS_0_USERNAME`. Existing entities are not changed, and entities that are
removed from the configuration are not deleted. With an invalid entry the server does not start. Passwords are never shown. See
[security.md](security.md).

`users`, `clients`, `groups`, `roles`, `mapping-rules` and `permissions` within an entry are lists of ids: in YAML, separated by commas,
or numbered. A group, role or tenant without a `name` is named by its id. A list in a source of higher precedence replaces the whole list
of a lower one, unless it only adds to its entries: the users may be in a file, and their passwords in
`CAMUNDA_SECURITY_INITIALIZATION_USERS_0_PASSWORD` and so on.

| Entry | Fields |
|---|---|
| `default-roles.ROLE` | `users`, `clients`, `groups`, `mapping-rules`: members of the role `admin`, `readonly-admin`, `connectors`, `rpa`, `app-integrations`, `task-worker`, or of a role in `roles` |
";

const WITHOUT: &str = "
## Settings without effect

They are accepted, with a warning that says why they have no effect.

| Setting | Why |
|---|---|
";

/// Every setting as a line of YAML, with its source as a comment.
pub fn listing(effective: &[Effective]) -> String {
    let lines = effective.iter().map(|setting| {
        let plain = setting
            .value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
        let value = if plain && !setting.value.is_empty() {
            setting.value.clone()
        } else {
            serde_json::Value::from(setting.value.as_str()).to_string()
        };
        format!("{}: {value}  # {}\n", setting.name, setting.source)
    });
    lines.collect()
}

/// The name as an environment variable.
pub fn environment_name(key: &str) -> String {
    let letters = key.chars().filter(|c| *c != '-').map(|c| match c {
        '.' => '_',
        other => other.to_ascii_uppercase(),
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SKEP_GOLDEN=write cargo test -p skep` writes the file.
    #[test]
    fn the_documentation_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        if std::env::var("SKEP_GOLDEN").as_deref() == Ok("write") {
            std::fs::write(path, markdown()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == markdown(),
            "docs/configuration.md is out of date; SKEP_GOLDEN=write cargo test --workspace --bin skep writes it"
        );
    }
}
