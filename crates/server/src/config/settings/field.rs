//! How the values of settings become the fields of [`Settings`](super::Settings), and the other way round.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use skep_broker::flow_control::Algorithm;
use skep_gateway::OverloadPolicy;
use skep_tls::Password;

use super::{LogFormat, Mode, SecondaryStorage};
use crate::config::backup::{BackupStore, GcsAuth};
use crate::config::security::{ManagementLogin, Method};
use crate::config::tls::ClientAuth;
use crate::config::value::{Value, squeeze};

/// A field of the settings that takes a [`Value`] of its key's kind.
pub trait Field {
    fn put(&mut self, value: Value);
    fn value(&self) -> Value;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn put(&mut self, value: Value) {
                // The bounds of the kind keep numbers within the type.
                match value {
                    Value::Number(number) => *self = <$type>::try_from(number).unwrap_or(<$type>::MAX),
                    Value::Time(time) => *self = <$type>::try_from(time.as_millis()).unwrap_or(<$type>::MAX),
                    _ => {}
                }
            }
            fn value(&self) -> Value {
                Value::Number(u64::try_from(*self).unwrap_or(u64::MAX))
            }
        }
    )*};
}

numbers!(u16, u32, u64, usize);

macro_rules! plain {
    ($($type:ty: $variant:ident),*) => {$(
        impl Field for $type {
            fn put(&mut self, value: Value) {
                if let Value::$variant(value) = value {
                    *self = value;
                }
            }
            fn value(&self) -> Value {
                Value::$variant(self.clone())
            }
        }
    )*};
}

plain!(bool: Flag, f64: Real, Duration: Time, String: Text);

/// Nothing that was not said turns on or off.
impl Field for Password {
    fn put(&mut self, value: Value) {
        if let Value::Text(text) = value {
            *self = Password::new(&text);
        }
    }
    fn value(&self) -> Value {
        Value::Text(self.reveal().to_string())
    }
}

impl Field for Option<bool> {
    fn put(&mut self, value: Value) {
        if let Value::Flag(flag) = value {
            *self = Some(flag);
        }
    }
    fn value(&self) -> Value {
        Value::Flag(self.unwrap_or(false))
    }
}

macro_rules! texts {
    ($($type:ty: $read:expr, $show:expr;)*) => {$(
        impl Field for $type {
            fn put(&mut self, value: Value) {
                let read: fn(&str) -> Option<$type> = $read;
                if let Value::Text(text) = value && let Some(value) = read(&text) {
                    *self = value;
                }
            }
            fn value(&self) -> Value {
                let show: fn(&$type) -> String = $show;
                Value::Text(show(self))
            }
        }
    )*};
}

texts! {
    PathBuf: |text| Some(text.into()), |path| path.display().to_string();
    IpAddr: |text| text.parse().ok(), |address| address.to_string();
    Vec<String>: |text| Some(texts_of(text)), |texts| texts.join(", ");
    Option<String>: |text| Some(Some(text.to_string())), |text| text.clone().unwrap_or_default();
    Mode: |text| one_of(MODES, text), |mode| word_of(MODES, mode);
    ClientAuth: |text| one_of(CLIENT_AUTH, text), |auth| word_of(CLIENT_AUTH, auth);
    ManagementLogin: |text| one_of(MANAGEMENT_LOGINS, text), |login| word_of(MANAGEMENT_LOGINS, login);
    Option<Method>: |text| one_of(METHODS, text).map(Some), |method| word_of(METHODS, &method.unwrap_or(Method::Basic));
    LogFormat: |text| one_of(FORMATS, text), |format| word_of(FORMATS, format);
    OverloadPolicy: |text| one_of(POLICIES, text), |policy| word_of(POLICIES, policy);
    SecondaryStorage: |text| one_of(STORAGES, text), |storage| word_of(STORAGES, storage);
    BackupStore: |text| one_of(BACKUP_STORES, text), |store| word_of(BACKUP_STORES, store);
    GcsAuth: |text| one_of(GCS_AUTHS, text), |auth| word_of(GCS_AUTHS, auth);
    Algorithm: |text| one_of(ALGORITHMS, text), |algorithm| word_of(ALGORITHMS, algorithm);
}

const MODES: &[(&str, Mode)] = &[("all-in-one", Mode::AllInOne), ("gateway", Mode::Gateway)];
const CLIENT_AUTH: &[(&str, ClientAuth)] = &[
    ("none", ClientAuth::None),
    ("want", ClientAuth::Want),
    ("need", ClientAuth::Need),
];
const MANAGEMENT_LOGINS: &[(&str, ManagementLogin)] = &[
    ("none", ManagementLogin::None),
    ("api", ManagementLogin::Api),
];
const METHODS: &[(&str, Method)] = &[("basic", Method::Basic), ("oidc", Method::Oidc)];
const FORMATS: &[(&str, LogFormat)] = &[("text", LogFormat::Text), ("json", LogFormat::Json)];
const POLICIES: &[(&str, OverloadPolicy)] = &[
    ("caller-runs", OverloadPolicy::CallerRuns),
    ("abort", OverloadPolicy::Abort),
];
const STORAGES: &[(&str, SecondaryStorage)] = &[
    ("embedded", SecondaryStorage::Embedded),
    ("rdbms", SecondaryStorage::Rdbms),
    ("elasticsearch", SecondaryStorage::Elasticsearch),
    ("opensearch", SecondaryStorage::Opensearch),
    ("none", SecondaryStorage::None),
];
const BACKUP_STORES: &[(&str, BackupStore)] = &[
    ("none", BackupStore::None),
    ("filesystem", BackupStore::Filesystem),
    ("s3", BackupStore::S3),
    ("gcs", BackupStore::Gcs),
    ("azure", BackupStore::Azure),
];
const GCS_AUTHS: &[(&str, GcsAuth)] = &[("auto", GcsAuth::Auto), ("none", GcsAuth::None)];
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("aimd", Algorithm::Aimd),
    ("fixed", Algorithm::Fixed),
    ("vegas", Algorithm::Vegas),
    ("gradient", Algorithm::Gradient),
    ("gradient2", Algorithm::Gradient2),
    ("legacy-vegas", Algorithm::LegacyVegas),
];

fn texts_of(list: &str) -> Vec<String> {
    let texts = list.split(',').map(str::trim);
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(str::to_string).collect()
}

fn one_of<T: Copy>(words: &[(&str, T)], text: &str) -> Option<T> {
    let found = words
        .iter()
        .find(|(word, _)| squeeze(word) == squeeze(text));
    found.map(|(_, value)| *value)
}

fn word_of<T: PartialEq>(words: &[(&str, T)], value: &T) -> String {
    let found = words.iter().find(|(_, known)| known == value);
    found.map_or_else(String::new, |(word, _)| (*word).to_string())
}
