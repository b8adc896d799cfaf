//! Settings of the exporters to Elasticsearch and OpenSearch, with the reference's defaults.

use std::collections::BTreeSet;
use std::time::Duration;

use skep_protocol::ValueType;
use skep_protocol::json::API_VERSION;
use skep_protocol::record::RecordType;

use super::is_exportable;
use crate::tls::Trust;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    Elasticsearch,
    Opensearch,
}

/// The settings below `args` of an exporter.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    pub flavor: Flavor,
    /// `url`: addresses of the servers. If one does not answer, the next is tried.
    pub urls: Vec<String>,
    /// `requestTimeoutMs`.
    pub request_timeout: Duration,
    pub index: IndexSettings,
    /// `brokerVersion` of the records, also part of index names (`skep.api.version`).
    pub broker_version: String,
    pub bulk: BulkSettings,
    /// `authentication.username` and `.password`.
    pub login: Option<(String, String)>,
    /// `security.*`, for https.
    pub trust: Trust,
    /// `retention.*`, if enabled.
    pub retention: Option<Retention>,
    /// Positions of records to skip (`camunda.data.export.skip-records`).
    pub skip: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
pub struct IndexSettings {
    pub prefix: String,
    pub create_template: bool,
    /// `indexSuffixDatePattern`: letters as in Java; see [`IndexSettings::check_pattern`].
    pub date_pattern: String,
    pub number_of_shards: u32,
    pub number_of_replicas: u32,
    pub commands: bool,
    pub events: bool,
    pub rejections: bool,
    /// IDs of value types that are not exported.
    pub without: BTreeSet<u8>,
}

#[derive(Clone, Debug)]
pub struct BulkSettings {
    /// Records are collected until this time has passed, or this number of records or bytes is reached.
    pub delay: Duration,
    pub size: usize,
    pub memory_limit: usize,
}

#[derive(Clone, Debug)]
pub struct Retention {
    /// For example `30d`.
    pub minimum_age: String,
    pub policy_name: String,
}

impl SearchSettings {
    pub fn new(flavor: Flavor) -> SearchSettings {
        let without = [
            ValueType::JobBatch,
            ValueType::ProcessEvent,
            ValueType::ProcessInstanceBatch,
        ];
        SearchSettings {
            flavor,
            urls: vec!["http://localhost:9200".to_string()],
            request_timeout: Duration::from_secs(30),
            index: IndexSettings {
                prefix: "zeebe-record".to_string(),
                create_template: true,
                date_pattern: "yyyy-MM-dd".to_string(),
                number_of_shards: 3,
                number_of_replicas: 0,
                commands: false,
                events: true,
                rejections: false,
                without: without.map(|value_type| value_type as u8).into(),
            },
            broker_version: API_VERSION.to_string(),
            bulk: BulkSettings {
                delay: Duration::from_secs(5),
                size: 1000,
                memory_limit: 10 << 20,
            },
            login: None,
            trust: Trust::default(),
            retention: None,
            skip: BTreeSet::new(),
        }
    }

    /// Whether records of this kind are exported.
    pub fn wants(&self, record_type: RecordType, value_type: ValueType) -> bool {
        let index = &self.index;
        let wanted = match record_type {
            RecordType::Event => index.events,
            RecordType::Command => index.commands,
            RecordType::CommandRejection => index.rejections,
        };
        wanted && is_exportable(value_type) && !index.without.contains(&(value_type as u8))
    }
}

impl IndexSettings {
    /// The date in the name of an index.
    pub fn date(&self, timestamp: i64) -> String {
        let time = jiff::Timestamp::from_millisecond(timestamp).unwrap_or_default();
        let time = time.to_zoned(jiff::tz::TimeZone::UTC);
        let mut out = String::new();
        for (letter, count) in runs(&self.date_pattern) {
            let number = match letter {
                'y' | 'u' if count == 2 => i64::from(time.year() % 100),
                'y' | 'u' => i64::from(time.year()),
                'M' => i64::from(time.month()),
                'd' => i64::from(time.day()),
                'D' => i64::from(time.day_of_year()),
                'H' => i64::from(time.hour()),
                other => {
                    out.extend(std::iter::repeat_n(other, count));
                    continue;
                }
            };
            out.push_str(&format!("{number:0count$}"));
        }
        out
    }

    /// Checks a date pattern. Unknown letters are errors, because they would appear literally in index names.
    pub fn check_pattern(pattern: &str) -> Result<(), PatternError> {
        let unknown = runs(pattern).find(|(letter, _)| {
            !matches!(
                letter,
                'y' | 'u' | 'M' | 'd' | 'D' | 'H' | '-' | '_' | '.' | '0'..='9'
            )
        });
        match unknown {
            None if !pattern.is_empty() => Ok(()),
            None => Err(PatternError::Empty),
            Some((letter, _)) => Err(PatternError::Letter(letter)),
        }
    }
}

/// Reasons why a date pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern is empty")]
    Empty,
    #[error(
        "'{0}' is not allowed in the pattern; allowed are y (year), M (month), d (day), D (day of the year), H (hour), digits and - _ ."
    )]
    Letter(char),
}

/// Splits a pattern into runs of the same letter, with their lengths.
fn runs(pattern: &str) -> impl Iterator<Item = (char, usize)> + '_ {
    let mut letters = pattern.chars().peekable();
    std::iter::from_fn(move || {
        let letter = letters.next()?;
        let mut count = 1;
        while letters.next_if_eq(&letter).is_some() {
            count += 1;
        }
        Some((letter, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_the_pattern_says() {
        let mut index = SearchSettings::new(Flavor::Elasticsearch).index;
        let date = |index: &IndexSettings| index.date(1_700_000_000_000);
        assert_eq!(date(&index), "2023-11-14");
        for (pattern, expected) in [
            ("yyyy-MM", "2023-11"),
            ("yy.M.d_HH", "23.11.14_22"),
            ("yyyyDDD", "2023318"),
        ] {
            IndexSettings::check_pattern(pattern).unwrap();
            index.date_pattern = pattern.to_string();
            assert_eq!(date(&index), expected);
        }
        for pattern in ["", "yyyy/MM", "YYYY", "yyyy-MM-dd'T'"] {
            assert!(IndexSettings::check_pattern(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn commands_and_rejections_are_exported_when_they_are_wanted_and_own_types_never() {
        let mut settings = SearchSettings::new(Flavor::Opensearch);
        assert!(settings.wants(RecordType::Event, ValueType::Job));
        assert!(!settings.wants(RecordType::Event, ValueType::JobBatch));
        assert!(!settings.wants(RecordType::Command, ValueType::Job));
        settings.index.commands = true;
        settings.index.without.clear();
        assert!(settings.wants(RecordType::Command, ValueType::JobBatch));
        assert!(!settings.wants(RecordType::Event, ValueType::Exporting));
    }
}
