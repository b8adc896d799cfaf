//! Settings of backups: where they go, and which of them this version does not support.

use std::path::PathBuf;
use std::time::Duration;

use skep_backup::{Azure, BadConnectionString, Gcs, Location, S3};
use skep_broker::backup::BackupConfig;
use skep_broker::backup::schedule::Schedule;
use skep_model::timer_value::{Cycle, InvalidTimerValue};

/// `…backup.store`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackupStore {
    #[default]
    None,
    S3,
    Gcs,
    Azure,
    Filesystem,
}

#[derive(Clone, Debug)]
pub struct Backup {
    pub store: BackupStore,
    pub directory: String,
    pub s3: Bucket,
    pub gcs: GcsBucket,
    pub azure: AzureContainer,
    pub max_rate: u64,
    pub continuous: bool,
    pub required: bool,
    pub schedule: String,
    pub offset: u64,
    /// Zero: not set.
    pub checkpoint_interval: Duration,
    /// Zero: backups are kept.
    pub retention_window: Duration,
    /// Repository of the search server for snapshots of secondary storage.
    pub repository: String,
}

#[derive(Clone, Debug)]
pub struct Bucket {
    pub name: String,
    pub base_path: String,
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key: Option<String>,
    pub secret_key: Option<String>,
    pub ssec_key: String,
    pub call_timeout: Duration,
}

/// `…backup.gcs`.
#[derive(Clone, Debug, Default)]
pub struct GcsBucket {
    pub name: String,
    pub base_path: String,
    pub host: Option<String>,
    pub auth: GcsAuth,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GcsAuth {
    #[default]
    Auto,
    None,
}

/// `…backup.azure`.
#[derive(Clone, Debug)]
pub struct AzureContainer {
    pub endpoint: Option<String>,
    pub account: String,
    pub key: Option<String>,
    pub connection_string: String,
    pub sas: Option<String>,
    pub container: String,
    pub create: bool,
}

impl Default for AzureContainer {
    fn default() -> AzureContainer {
        AzureContainer {
            endpoint: None,
            account: String::new(),
            key: None,
            connection_string: String::new(),
            sas: None,
            container: String::new(),
            create: true,
        }
    }
}

impl AzureContainer {
    fn location(&self) -> Result<Azure, BadConnectionString> {
        let set = Azure {
            container: self.container.clone(),
            account: self.account.clone(),
            endpoint: self.endpoint.clone(),
            key: self.key.clone(),
            sas: self.sas.clone(),
            create: self.create,
        };
        match self.connection_string.trim() {
            "" => Ok(set),
            text => set.connect(text),
        }
    }
}

impl Default for Backup {
    fn default() -> Backup {
        Backup {
            store: BackupStore::None,
            directory: String::new(),
            s3: Bucket {
                name: String::new(),
                base_path: String::new(),
                endpoint: None,
                region: None,
                access_key: None,
                secret_key: None,
                ssec_key: String::new(),
                call_timeout: CALL_LIMIT,
            },
            gcs: GcsBucket::default(),
            azure: AzureContainer::default(),
            max_rate: 32 << 20,
            continuous: false,
            required: false,
            schedule: String::new(),
            offset: 0,
            checkpoint_interval: Duration::ZERO,
            retention_window: Duration::ZERO,
            repository: String::new(),
        }
    }
}

/// A failed request is retried for this long.
const CALL_LIMIT: Duration = Duration::from_secs(180);
/// Interval between two restorable moments.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(10);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
const KEY: &str = "camunda.data.primary-storage.backup";

impl Backup {
    /// `None`: backups have no store.
    pub fn config(&self) -> Option<BackupConfig> {
        let location = match self.store {
            BackupStore::Filesystem => Location::Directory(PathBuf::from(&self.directory)),
            BackupStore::S3 => Location::S3 {
                bucket: S3 {
                    bucket: self.s3.name.clone(),
                    endpoint: self.s3.endpoint.clone(),
                    region: self.s3.region.clone(),
                    access_key: self.s3.access_key.clone(),
                    secret_key: self.s3.secret_key.clone(),
                },
                prefix: self.s3.base_path.clone(),
                limit: self.s3.call_timeout,
            },
            BackupStore::Gcs => Location::Gcs {
                bucket: Gcs {
                    bucket: self.gcs.name.clone(),
                    host: self.gcs.host.clone(),
                    anonymous: self.gcs.auth == GcsAuth::None,
                },
                prefix: self.gcs.base_path.clone(),
                limit: CALL_LIMIT,
            },
            BackupStore::Azure => Location::Azure {
                // An unreadable one has prevented the start.
                container: self.azure.location().ok()?,
                limit: CALL_LIMIT,
            },
            BackupStore::None => return None,
        };
        Some(BackupConfig {
            location,
            rate: self.max_rate,
            schedule: Schedule {
                // An unreadable one has prevented the start.
                times: self.times().ok().flatten(),
                keep: (!self.retention_window.is_zero()).then_some(self.retention_window),
                offset: self.offset,
            },
            continuous: self.continuous.then_some({
                if self.checkpoint_interval.is_zero() {
                    CHECKPOINT_INTERVAL
                } else {
                    self.checkpoint_interval
                }
            }),
            required: self.required,
            // The settings of document stores are elsewhere.
            documents: Vec::new(),
        })
    }

    /// Parses a time span, or a cron expression.
    fn times(&self) -> Result<Option<Cycle>, InvalidTimerValue> {
        let text = self.schedule.trim();
        if text.is_empty() || text.eq_ignore_ascii_case("none") {
            return Ok(None);
        }
        if text.starts_with('P') {
            Cycle::parse(&format!("R/{text}"))
        } else {
            Cycle::parse(text)
        }
        .map(Some)
    }

    fn check_azure(&self, found: &mut Vec<String>) {
        if self.azure.container.is_empty() {
            found.push(format!(
                "{KEY}.store is AZURE, but {KEY}.azure.base-path, the name of the container, is not set"
            ));
        }
        match self.azure.location() {
            Err(error) => found.push(format!("{KEY}.azure.connection-string: {error}")),
            Ok(azure) if azure.account.is_empty() && azure.endpoint.is_none() => {
                found.push(format!(
                    "{KEY}.store is AZURE, but none of {KEY}.azure.account-name, .endpoint and .connection-string is set"
                ))
            }
            Ok(_) => {}
        }
    }

    /// Impossible combinations, each with its keys.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        match self.store {
            BackupStore::Filesystem if self.directory.is_empty() => found.push(format!(
                "{KEY}.store is FILESYSTEM, but {KEY}.filesystem.base-path is not set: name a directory that all nodes have mounted"
            )),
            BackupStore::S3 if self.s3.name.is_empty() => found.push(format!(
                "{KEY}.store is S3, but {KEY}.s3.bucket-name is not set"
            )),
            BackupStore::Gcs if self.gcs.name.is_empty() => found.push(format!(
                "{KEY}.store is GCS, but {KEY}.gcs.bucket-name is not set"
            )),
            BackupStore::Azure => self.check_azure(&mut found),
            BackupStore::None | BackupStore::Filesystem | BackupStore::S3 | BackupStore::Gcs => {}
        }
        // Accepting it without implementing it would be a promise that nobody keeps.
        let text = |text: &str| !text.is_empty() && text != "none";
        if text(&self.s3.ssec_key) {
            found.push(format!(
                "{KEY}.s3.ssec-key: this version does not encrypt the objects itself. Remove it, and use the encryption of the store"
            ));
        }
        if self.required && !self.continuous {
            found.push(format!(
                "{KEY}.required keeps the log until it is shipped, which only continuous backups do: set {KEY}.continuous"
            ));
        }
        if let Err(error) = self.times() {
            found.push(format!(
                "{KEY}.schedule = '{}': expected a time span such as PT1H, a cron text of six fields such as 0 0 3 * * *, or none ({error})",
                self.schedule
            ));
        }
        if !self.checkpoint_interval.is_zero() && !self.continuous {
            found.push(format!(
                "{KEY}.checkpoint-interval: moments between backups can be restored only if the log is shipped all the time: set \
                 {KEY}.continuous"
            ));
        }
        if !self.checkpoint_interval.is_zero() && self.checkpoint_interval < SHORTEST_INTERVAL {
            found.push(format!(
                "{KEY}.checkpoint-interval: all partitions are paused for each moment; the minimum is 1 s"
            ));
        }
        if self.continuous && self.store == BackupStore::None {
            found.push(format!("{KEY}.continuous needs a store: set {KEY}.store"));
        }
        let asks = !self.retention_window.is_zero() || self.times().is_ok_and(|it| it.is_some());
        if asks && self.store == BackupStore::None {
            found.push(format!(
                "{KEY}.schedule and {KEY}.retention.window need a store: set {KEY}.store"
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backup, BackupStore};

    fn filesystem() -> Backup {
        Backup {
            store: BackupStore::Filesystem,
            directory: "/backups".to_string(),
            ..Backup::default()
        }
    }

    fn expect_refused(backup: &Backup, with: &str) {
        let found = backup.contradictions().join("; ");
        assert!(found.contains(with), "{with}: {found}");
    }

    #[test]
    fn unsupported_and_incomplete_settings_are_refused_by_name() {
        assert_eq!(filesystem().contradictions(), [""; 0]);
        let mut backup = filesystem();
        backup.s3.ssec_key = "key".to_string();
        expect_refused(&backup, "s3.ssec-key");
        let mut backup = filesystem();
        backup.store = BackupStore::Gcs;
        expect_refused(&backup, "gcs.bucket-name");
        let mut backup = filesystem();
        backup.directory.clear();
        expect_refused(&backup, "filesystem.base-path");
        let mut backup = filesystem();
        backup.store = BackupStore::S3;
        expect_refused(&backup, "s3.bucket-name");
    }

    #[test]
    fn continuous_backups_need_a_store_and_markers_need_them() {
        let mut backup = filesystem();
        assert_eq!(backup.config().unwrap().continuous, None);
        backup.required = true;
        expect_refused(&backup, "backup.required keeps the log until it is shipped");
        backup.checkpoint_interval = Duration::from_secs(3);
        expect_refused(
            &backup,
            "set camunda.data.primary-storage.backup.continuous",
        );
        backup.continuous = true;
        assert_eq!(backup.contradictions(), [""; 0]);
        let interval = backup.config().unwrap().continuous;
        assert_eq!(interval, Some(Duration::from_secs(3)));
        backup.checkpoint_interval = Duration::from_millis(999);
        expect_refused(&backup, "the minimum is 1 s");
        backup.checkpoint_interval = Duration::ZERO;
        let interval = backup.config().unwrap().continuous;
        assert_eq!(interval, Some(Duration::from_secs(10)));
        backup.store = BackupStore::None;
        expect_refused(&backup, "backup.continuous needs a store");
    }

    #[test]
    fn a_container_needs_its_name_and_its_account() {
        let mut backup = Backup {
            store: BackupStore::Azure,
            ..Backup::default()
        };
        expect_refused(&backup, "azure.base-path");
        expect_refused(&backup, "azure.account-name");
        backup.azure.container = "backups".to_string();
        backup.azure.connection_string = "AccountKey=secret".to_string();
        expect_refused(&backup, "azure.connection-string: it has neither");
        assert!(!backup.contradictions().join("").contains("secret"));
        backup.azure.connection_string = "AccountName=bees;AccountKey=secret".to_string();
        assert_eq!(backup.contradictions(), [""; 0]);
        let location = backup.config().unwrap().location;
        assert_eq!(location.to_string(), "azure://backups");
    }

    #[test]
    fn a_schedule_is_a_time_span_or_a_cron_text_and_needs_a_store() {
        for (text, is_there) in [
            ("", false),
            ("none", false),
            ("PT1H", true),
            ("0 0 3 * * *", true),
        ] {
            let mut backup = filesystem();
            backup.schedule = text.to_string();
            assert_eq!(backup.contradictions(), [""; 0], "{text}");
            let times = backup.config().unwrap().schedule.times;
            assert_eq!(times.is_some(), is_there, "{text}");
        }
        for text in ["hourly", "PT0S", "1 2 3", "auto"] {
            let mut backup = filesystem();
            backup.schedule = text.to_string();
            expect_refused(&backup, "backup.schedule");
        }
        let backup = Backup {
            retention_window: Duration::from_secs(60),
            ..Backup::default()
        };
        expect_refused(&backup, "need a store");
    }
}
