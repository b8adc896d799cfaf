//! Backups: where they go, and what of them this version does not do.

use std::path::PathBuf;
use std::time::Duration;

use skep_backup::{Location, S3};
use skep_broker::backup::BackupConfig;

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
    pub max_rate: u64,
    pub continuous: bool,
    pub required: bool,
    pub schedule: String,
    pub checkpoint_interval: String,
    pub retention_window: String,
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
                call_timeout: Duration::from_secs(180),
            },
            max_rate: 32 << 20,
            continuous: false,
            required: false,
            schedule: String::new(),
            checkpoint_interval: String::new(),
            retention_window: String::new(),
        }
    }
}

const KEY: &str = "camunda.data.primary-storage.backup";

impl Backup {
    /// `None`: backups have no store.
    pub fn config(&self) -> Option<BackupConfig> {
        let location = match self.store {
            BackupStore::Filesystem => Location::Directory(PathBuf::from(&self.directory)),
            BackupStore::S3 => Location::Bucket {
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
            BackupStore::None | BackupStore::Gcs | BackupStore::Azure => return None,
        };
        Some(BackupConfig {
            location,
            rate: self.max_rate,
        })
    }

    /// What cannot be, each with the keys.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        match self.store {
            BackupStore::Filesystem if self.directory.is_empty() => found.push(format!(
                "{KEY}.store is FILESYSTEM, but {KEY}.filesystem.base-path is not set: name a directory that all nodes have mounted"
            )),
            BackupStore::S3 if self.s3.name.is_empty() => found.push(format!(
                "{KEY}.store is S3, but {KEY}.s3.bucket-name is not set"
            )),
            BackupStore::Gcs | BackupStore::Azure => found.push(format!(
                "{KEY}.store: this version writes backups to a FILESYSTEM or to S3"
            )),
            _ => {}
        }
        // To take these without doing them would promise backups that nobody makes.
        let text = |text: &str| !text.is_empty() && text != "none";
        let promises = [
            ("continuous", self.continuous),
            ("required", self.required),
            ("schedule", text(&self.schedule)),
            ("checkpoint-interval", text(&self.checkpoint_interval)),
            ("retention.window", text(&self.retention_window)),
            ("s3.ssec-key", text(&self.s3.ssec_key)),
        ];
        for (key, _) in promises.iter().filter(|(_, given)| *given) {
            found.push(format!(
                "{KEY}.{key}: this version does not do that. Remove it, and take backups with `skep backup take` or POST \
                 /actuator/backupRuntime, for example from a cron job"
            ));
        }
        found
    }
}
