//! Configuration: built-in defaults, then files, then the environment, then flags; the last one wins.

mod advertised;
mod backup;
pub mod docs;
mod documents;
mod exporters;
mod lists;
pub mod node_ids;
pub mod node_number;
mod not_built;
mod placeholders;
mod profiles;
pub mod secrets;
pub mod security;
mod settings;
pub mod source;
mod table;
pub mod tls;
pub mod value;
mod without_effect;

pub use placeholders::fill;
pub use profiles::select;
pub use security::ManagementLogin;
pub use settings::{LogFormat, Settings, TraceSettings};
pub use source::{Given, Source};

use security::Answer;
use table::{KEYS, Key};
use value::{Kind, Value, squeeze};

/// Validated settings, and where they came from.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// Every setting with its value and source, in documented order.
    pub effective: Vec<Effective>,
    /// For the operator: names without effect, old names.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    pub name: &'static str,
    pub value: String,
    pub source: Source,
}

/// Parses a time span as settings write it.
pub fn milliseconds(text: &str) -> Option<u64> {
    match Kind::Time(0).parse(text)? {
        Value::Time(time) => u64::try_from(time.as_millis()).ok(),
        _ => None,
    }
}

/// The reasons why the server does not start: every problem that was found.
#[derive(Debug, thiserror::Error)]
#[error("the configuration has problems:\n{}", .0.iter().map(|p| format!("  - {p}")).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// The names under which a setting was given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Under {
    New,
    Old,
    Also,
}

/// One setting, found in the table.
struct Resolved<'a> {
    under: Under,
    value: Value,
    given: &'a Given,
}

impl Resolved<'_> {
    /// The setting as it was given, without secrets.
    fn shown(&self, key: &Key) -> String {
        let Given { name, text, source } = self.given;
        let text = match key.kind {
            Kind::Secret | Kind::Url | Kind::List => &key.kind.show(&self.value),
            _ => text,
        };
        format!("{name} = '{text}' ({source})")
    }
}

fn not_expected(given: &Given, key: &Key) -> String {
    format!(
        "{} = '{}' ({}): expected {}",
        given.name,
        shortened(&given.text),
        given.source,
        key.kind.expected()
    )
}

/// Resolves the given settings, weakest source first.
///
/// # Errors
/// Invalid values, an old and a new name with different values, contradictory settings.
pub fn resolve(given: &[Given]) -> Result<Loaded, ConfigError> {
    let mut settings = Settings::default();
    let mut effective = Vec::new();
    let (mut warnings, mut problems) = (Vec::new(), Vec::new());
    let mut by_key: Vec<Vec<Resolved<'_>>> = KEYS.iter().map(|_| Vec::new()).collect();
    let all = lists::joined(given);
    let mut named = Named::default();
    for given in &all {
        match find(given) {
            Some((key, index, under)) => match key.kind.parse(&given.text) {
                Some(value) => by_key.get_mut(index).into_iter().for_each(|found| {
                    found.push(Resolved {
                        under,
                        value: value.clone(),
                        given,
                    });
                }),
                // An empty environment variable means "not set".
                None if given.text.is_empty() => {}
                None => problems.push(not_expected(given, key)),
            },
            None if named.take(given) => {}
            None => not_there(given, &all, &mut warnings, &mut problems),
        }
    }
    for (key, found) in KEYS.iter().zip(&by_key) {
        let last = |under| found.iter().rev().find(|found| found.under == under);
        let (new, old) = (last(Under::New), last(Under::Old));
        let flag = new.is_some_and(|new| matches!(new.given.source, Source::Flag(_)));
        let chosen = match (new, old) {
            (Some(new), Some(old)) if new.value != old.value && !flag => {
                problems.push(format!(
                    "{} and {} are the same setting with different values; remove the older name, {}",
                    new.shown(key),
                    old.shown(key),
                    old.given.name
                ));
                continue;
            }
            (None, Some(old)) => {
                warnings.push(format!(
                    "{} ({}) is an old name; it is now {}",
                    old.given.name, old.given.source, key.name
                ));
                Some(old)
            }
            (new, _) => new.or_else(|| last(Under::Also)),
        };
        if let Some(chosen) = chosen {
            (key.set)(&mut settings, chosen.value.clone());
        }
        effective.push(Effective {
            name: key.name,
            value: key.kind.show(&(key.get)(&settings)),
            source: chosen.map_or(Source::Default, |chosen| chosen.given.source.clone()),
        });
    }
    named.finish(&effective, &mut settings, &mut warnings, &mut problems);
    problems.extend(settings.shift_ports().err());
    problems.extend(settings.contradictions());
    if problems.is_empty() {
        Ok(Loaded {
            effective: settings.security.show(effective),
            settings,
            warnings,
        })
    } else {
        Err(ConfigError(problems))
    }
}

/// Settings whose names contain an operator's own names, any number of each.
#[derive(Default)]
struct Named<'g> {
    exporters: exporters::Exporters<'g>,
    documents: documents::Given<'g>,
    initialization: security::Initialization<'g>,
    providers: security::Providers<'g>,
}

impl<'g> Named<'g> {
    fn take(&mut self, given: &'g Given) -> bool {
        self.exporters.take(given)
            || self.documents.take(given)
            || self.initialization.take(given)
            || self.providers.take(given)
    }

    fn finish(
        self,
        effective: &[Effective],
        settings: &mut Settings,
        warnings: &mut Vec<String>,
        problems: &mut Vec<String>,
    ) {
        let of_ids = effective.iter().find(|it| it.name == security::ID_PATTERN);
        let of_ids = of_ids.map_or(&Source::Default, |it| &it.source);
        problems.extend(settings.security.compile_ids(of_ids).err());
        settings.security.providers = self
            .providers
            .finish(&settings.security, warnings, problems);
        let largest = settings.largest_request();
        let initial = self
            .initialization
            .finish(&settings.security, largest, problems);
        settings.security.initial = initial;
        warnings.extend(settings.security.doubt().map(str::to_string));
        settings.document_stores = self.documents.finish(warnings, problems);
        settings.broker.exporters =
            self.exporters
                .finish(&settings.gateway.api_version, warnings, problems);
    }
}

fn find(given: &Given) -> Option<(&'static Key, usize, Under)> {
    KEYS.iter().enumerate().find_map(|(index, key)| {
        let any = |names: &[&str]| names.iter().any(|name| given.matches(name));
        let under = if given.matches(key.name) {
            Under::New
        } else if any(key.old) {
            Under::Old
        } else if any(key.also) {
            Under::Also
        } else {
            return None;
        };
        Some((key, index, under))
    })
}

/// Names with these prefixes are ours; others in a file belong to other programs.
const OURS: [&str; 7] = [
    "camunda.",
    "zeebe.",
    "skep.",
    "server.",
    "management.",
    "spring.servlet.multipart.",
    "logging.",
];

/// Handles a name that is not a setting of this version.
fn not_there(given: &Given, all: &[Given], warnings: &mut Vec<String>, problems: &mut Vec<String>) {
    if let Some(reason) = without_effect::reason(given) {
        let (name, source) = (&given.name, &given.source);
        warnings.push(format!("{name} ({source}) has no effect: {reason}"));
        return;
    }
    let answer = not_built::answer(given).or_else(|| security::answer(given, all));
    match answer {
        Some(Answer::Fine) => {}
        Some(Answer::Refused(problem)) => problems.push(problem),
        None => warnings.extend(unknown(given)),
    }
}

fn unknown(given: &Given) -> Option<String> {
    let name = squeeze(&given.name);
    let environment = matches!(given.source, Source::Environment(_));
    if !environment
        && !matches!(given.source, Source::Flag(_))
        && !OURS.iter().any(|prefix| name.starts_with(prefix))
    {
        return None;
    }
    let mut text = format!(
        "{} ({}) is unknown or not supported by this version: it has no effect",
        given.name, given.source
    );
    if let Some(near) = nearest(&name, environment) {
        let near = if environment {
            docs::environment_name(near)
        } else {
            near.to_string()
        };
        text.push_str(&format!(". Did you mean {near}?"));
    }
    Some(text)
}

/// The setting with a similar name.
fn nearest(name: &str, environment: bool) -> Option<&'static str> {
    let comparable = |key: &str| {
        let mut key = squeeze(key);
        if environment {
            key.retain(|c| c != '.');
        }
        key
    };
    let names = KEYS
        .iter()
        .flat_map(|key| std::iter::once(&key.name).chain(key.old));
    let (distance, near) = names
        .map(|key| (distance(name, &comparable(key)), *key))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 3).then_some(near)
}

/// The number of letters to insert, delete or replace to turn one text into the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (j, b) in to.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or(usize::MAX - 1);
            let cost = (diagonal + usize::from(a != *b))
                .min(above + 1)
                .min(left + 1);
            diagonal = above;
            if let Some(cell) = row.get_mut(j) {
                *cell = left;
            }
            left = cost;
        }
        if let Some(cell) = row.get_mut(to.len()) {
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests;
