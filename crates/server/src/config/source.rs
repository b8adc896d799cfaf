//! Sources of settings: files, the environment, flags. Each becomes a flat list of names and texts.

use std::fmt;
use std::path::{Path, PathBuf};

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::value::squeeze;

/// Maximum size of a configuration file, in bytes.
const MAX_FILE: u64 = 1 << 20;
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    File {
        path: PathBuf,
        line: usize,
    },
    Environment(String),
    Flag(String),
    /// The name of this host.
    Hostname(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File { path, line } => write!(f, "{} line {line}", path.display()),
            Source::Environment(name) => write!(f, "environment variable {name}"),
            Source::Flag(flag) => write!(f, "flag {flag}"),
            Source::Hostname(name) => write!(f, "host name {name}"),
        }
    }
}

/// A setting as given: a name with a text.
#[derive(Clone, Debug)]
pub struct Given {
    /// The name as written.
    pub name: String,
    pub text: String,
    pub source: Source,
}

impl Given {
    pub fn flag(flag: &str, name: &str, text: impl ToString) -> Given {
        Given {
            name: name.to_string(),
            text: text.to_string(),
            source: Source::Flag(flag.to_string()),
        }
    }

    /// Whether this is the setting `key`, in any spelling. In the environment dots are underscores, so there dots do not count.
    pub fn matches(&self, key: &str) -> bool {
        match &self.source {
            Source::Environment(_) => bare(&self.name) == bare(key),
            _ => squeeze(&self.name) == squeeze(key),
        }
    }

    /// Whether its name begins with this prefix.
    pub fn is_below(&self, prefix: &str) -> bool {
        match &self.source {
            Source::Environment(_) => bare(&self.name).starts_with(&bare(prefix)),
            _ => squeeze(&self.name)
                .strip_prefix(&squeeze(prefix))
                .is_some_and(|rest| rest.starts_with(['.', '['])),
        }
    }
}

fn bare(name: &str) -> String {
    let mut name = squeeze(name);
    name.retain(|c| c != '.');
    name
}

/// Prefixes of our variables in the environment; all others belong to other programs.
const ENVIRONMENT: [&str; 13] = [
    "CAMUNDA_",
    "DOCUMENT_STORE_",
    "DOCUMENT_DEFAULT_STORE_",
    "ZEEBE_BROKER_",
    "ZEEBE_GATEWAY_",
    "ZEEBE_CLOCK_",
    "ZEEBE_LOG_",
    "MANAGEMENT_ENDPOINTS_WEB_",
    "MANAGEMENT_SERVER_",
    "SERVER_SSL_",
    "SPRING_SERVLET_MULTIPART_",
    "SKEP_",
    "LOGGING_LEVEL_",
];
/// Further variables of ours, by their full names.
const ENVIRONMENT_NAMES: [&str; 11] = [
    "DOCUMENT_THREAD_POOL_SIZE",
    "SERVER_PORT",
    "SERVER_ADDRESS",
    "SERVER_TOMCAT_MAXPARTCOUNT",
    "SERVER_TOMCAT_MAXCONNECTIONS",
    "SERVER_TOMCAT_CONNECTIONTIMEOUT",
    "SERVER_TOMCAT_KEEPALIVETIMEOUT",
    "SPRING_PROFILES_ACTIVE",
    "RUST_LOG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_TRACES_SAMPLER_ARG",
];
/// Variables of clients and of the command line.
const CLIENT: [&str; 21] = [
    "CAMUNDA_CLIENT_",
    "CAMUNDA_OAUTH_",
    "CAMUNDA_AUTH_STRATEGY",
    "CAMUNDA_BASIC_AUTH_",
    "CAMUNDA_CA_CERTIFICATE_PATH",
    "CAMUNDA_REST_ADDRESS",
    "CAMUNDA_TOKEN_AUDIENCE",
    "CAMUNDA_DEFAULT_TENANT_ID",
    "SKEP_AUTHORIZATION",
    "SKEP_PASSWORD_FILE",
    "SKEP_ADDRESS",
    "SKEP_MANAGEMENT_ADDRESS",
    "SKEP_PROFILE",
    "SKEP_TEST_",
    // Variables used to build and test Skep.
    "SKEP_BIN",
    "SKEP_CACHE",
    "SKEP_GOLDEN",
    "SKEP_GRPC",
    "SKEP_MAY_NOT_RUN",
    "SKEP_REST",
    "SKEP_SEED",
];

/// Collects the settings among environment variables.
pub fn environment(variables: impl Iterator<Item = (String, String)>) -> Vec<Given> {
    let ours = |name: &String| {
        let name = name.to_ascii_uppercase();
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        (starts(&ENVIRONMENT) || ENVIRONMENT_NAMES.contains(&name.as_str())) && !starts(&CLIENT)
    };
    let mut given: Vec<Given> = variables
        .filter(|(name, _)| ours(name))
        .map(|(name, text)| Given {
            source: Source::Environment(name.clone()),
            name,
            text,
        })
        .collect();
    given.sort_by(|a, b| a.name.cmp(&b.name));
    given
}

/// Reads a YAML file: the settings of each of its documents.
///
/// # Errors
/// The file cannot be read, or is not YAML of the kind that configuration files are; with file and place.
pub fn file(path: &Path) -> Result<Vec<Vec<Given>>, String> {
    let unreadable = |e: std::io::Error| {
        format!(
            "the configuration file {} cannot be read: {e}",
            path.display()
        )
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_FILE {
        return Err(format!(
            "the configuration file {} has {size} bytes; at most {MAX_FILE} are read",
            path.display()
        ));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    flatten(path, &text)
}

enum Frame {
    Map { prefix: String, key: Option<String> },
    List { prefix: String, next: usize },
}

impl Frame {
    /// The name of the value that comes next.
    fn name(&mut self) -> Option<String> {
        match self {
            Frame::Map { prefix, key } => {
                let key = key.take()?;
                Some(if prefix.is_empty() {
                    key
                } else {
                    format!("{prefix}.{key}")
                })
            }
            Frame::List { prefix, next } => {
                *next += 1;
                Some(format!("{prefix}[{}]", *next - 1))
            }
        }
    }
}

fn flatten(path: &Path, text: &str) -> Result<Vec<Vec<Given>>, String> {
    let mut documents = Vec::new();
    let mut given = Vec::new();
    let mut stack: Vec<Frame> = Vec::new();
    for event in Parser::new_from_str(text) {
        let bad = |line: usize, why: &str| format!("{} line {line}: {why}", path.display());
        let (event, span) = event.map_err(|e| {
            let line = e.marker().line();
            bad(line, &format!("this is not YAML: {}", e.info()))
        })?;
        let line = span.start.line();
        let nested = |stack: &mut Vec<Frame>| match (stack.len(), stack.last_mut()) {
            (_, None) => Ok(String::new()),
            (MAX_DEPTH.., _) => Err(bad(line, "nested too deeply")),
            (_, Some(frame)) => frame
                .name()
                .ok_or_else(|| bad(line, "a name must be a plain text")),
        };
        match event {
            Event::MappingStart(..) => {
                let prefix = nested(&mut stack)?;
                stack.push(Frame::Map { prefix, key: None });
            }
            Event::SequenceStart(..) => {
                let prefix = nested(&mut stack)?;
                stack.push(Frame::List { prefix, next: 0 });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                stack.pop();
            }
            Event::Scalar(text, style, ..) => match stack.last_mut() {
                Some(Frame::Map { key, .. }) if key.is_none() => *key = Some(text.into_owned()),
                Some(frame) => {
                    let unset =
                        style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null");
                    if let Some(name) = frame.name().filter(|_| !unset) {
                        given.push(Given {
                            name,
                            text: text.into_owned(),
                            source: Source::File {
                                path: path.to_path_buf(),
                                line,
                            },
                        });
                    }
                }
                None if text.trim().is_empty() => {}
                None => return Err(bad(line, "expected settings in the form `name: value`")),
            },
            Event::Alias(_) => return Err(bad(line, "references (*name) are not supported here")),
            Event::DocumentEnd => documents.push(std::mem::take(&mut given)),
            _ => {}
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str) -> Vec<(String, String, usize)> {
        let given = flatten(Path::new("a.yaml"), text).unwrap();
        given
            .into_iter()
            .flatten()
            .map(|g| match g.source {
                Source::File { line, .. } => (g.name, g.text, line),
                other => panic!("{other}"),
            })
            .collect()
    }

    #[test]
    fn nested_flat_and_listed_names_become_dotted_ones() {
        let text = "camunda:\n  cluster:\n    node-id: 3\n  data.snapshot-period: 5m\nserver.port: \"81\"\na: [x, {b: 1}]\nnothing:\nnull-too: ~\n";
        let expected = [
            ("camunda.cluster.node-id", "3", 3),
            ("camunda.data.snapshot-period", "5m", 4),
            ("server.port", "81", 5),
            ("a[0]", "x", 6),
            ("a[1].b", "1", 6),
        ]
        .map(|(name, text, line)| (name.to_string(), text.to_string(), line));
        assert_eq!(flat(text), expected);
        assert!(flat("").is_empty());
        assert!(flat("# only a comment\n").is_empty());
    }

    #[test]
    fn invalid_configuration_files_are_refused_with_the_line() {
        for (text, expected) in [
            ("a: [", "a.yaml line "),
            ("just text", "a.yaml line 1: expected settings"),
            ("a: &x 1\nb: *x", "a.yaml line 2: references"),
            ("? [a]\n: 1", "a.yaml line 1: a name must be"),
        ] {
            let error = flatten(Path::new("a.yaml"), text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let deep = "a: ".to_string() + &"[".repeat(100);
        assert!(flatten(Path::new("a.yaml"), &deep).is_err());
    }

    #[test]
    fn a_file_may_have_several_documents() {
        let documents = flatten(Path::new("a.yaml"), "a: 1\n---\nb: 2\nc: 3\n").unwrap();
        let names = |given: &Vec<Given>| given.iter().map(|g| g.name.clone()).collect::<Vec<_>>();
        let names: Vec<_> = documents.iter().map(names).collect();
        assert_eq!(names, [vec!["a"], vec!["b", "c"]]);
    }

    #[test]
    fn only_names_of_servers_are_taken_from_the_environment() {
        let names = [
            "PATH",
            "SERVER_SOFTWARE",
            "SERVER_PORT",
            "CAMUNDA_CLUSTER_NODEID",
            "CAMUNDA_CLIENT_ID",
            "CAMUNDA_AUTH_STRATEGY",
            "CAMUNDA_BASIC_AUTH_PASSWORD",
            "ZEEBE_ADDRESS",
            "ZEEBE_BROKER_DATA_DIRECTORY",
            "SKEP_ADDRESS",
            "SKEP_MANAGEMENT_ADDRESS",
            "SKEP_BIN",
            "SKEP_SEEDS",
        ];
        let variables = names.iter().map(|name| (name.to_string(), "1".to_string()));
        let taken: Vec<String> = environment(variables).into_iter().map(|g| g.name).collect();
        assert_eq!(
            taken,
            [
                "CAMUNDA_CLUSTER_NODEID",
                "SERVER_PORT",
                "ZEEBE_BROKER_DATA_DIRECTORY"
            ]
        );
    }
}
