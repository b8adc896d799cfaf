//! KEPT: views, drafts and models that users of the web interface keep. Skep's own; it is never exported.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The order is that of the encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeptKind {
    #[default]
    Views,
    Drafts,
    Models,
}

impl KeptKind {
    pub const ALL: [KeptKind; 3] = [KeptKind::Views, KeptKind::Drafts, KeptKind::Models];

    /// As paths name it.
    pub fn name(self) -> &'static str {
        match self {
            KeptKind::Views => "views",
            KeptKind::Drafts => "drafts",
            KeptKind::Models => "models",
        }
    }

    /// What one object of it is called.
    pub fn noun(self) -> &'static str {
        match self {
            KeptKind::Views => "view",
            KeptKind::Drafts => "draft",
            KeptKind::Models => "model",
        }
    }
}

/// A user and a client may have the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeptOwner {
    User(Arc<str>),
    Client(Arc<str>),
}

impl KeptOwner {
    /// User name or client id.
    pub fn name(&self) -> &Arc<str> {
        match self {
            KeptOwner::User(name) | KeptOwner::Client(name) => name,
        }
    }
}

impl Default for KeptOwner {
    fn default() -> KeptOwner {
        KeptOwner::User("".into())
    }
}

/// An owner has one object of a kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptId {
    pub owner: KeptOwner,
    pub kind: KeptKind,
    pub name: Arc<str>,
}

/// As stored: the key of the record is the object's revision. On DELETED, `body` is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptValue {
    pub id: KeptId,
    /// As lists show it.
    pub title: Arc<str>,
    /// Everybody who is logged in may read it.
    pub shared: bool,
    /// When it was put; epoch milliseconds.
    pub changed: i64,
    /// JSON text.
    pub body: Arc<str>,
}

impl KeptValue {
    /// Bytes of its texts: what counts against the limits.
    pub fn weight(&self) -> usize {
        self.id.owner.name().len() + self.id.name.len() + self.title.len() + self.body.len()
    }
}
