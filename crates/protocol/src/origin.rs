//! The origin of a command: its caller, and the references by which a client finds its outcome.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::key::Key;

/// Belongs to a command and to every record that it causes, including those of postponed work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Number given by the client.
    pub operation_reference: Option<u64>,
    /// The batch operation that carries out the command as an item, if there is one.
    pub batch_operation_reference: Key,
    pub claims: Claims,
}

impl Origin {
    /// Of these claims, with no references.
    pub fn of(claims: Claims) -> Origin {
        Origin {
            operation_reference: None,
            batch_operation_reference: Key::NONE,
            claims,
        }
    }

    /// Of the engine itself.
    pub fn internal() -> Origin {
        Origin::of(Claims::Internal)
    }

    /// True if there is nothing to record: the command of an anonymous caller. It is read back as that of [`Claims::Anonymous`].
    pub fn is_plain(&self) -> bool {
        self.operation_reference.is_none()
            && self.batch_operation_reference.is_none()
            && matches!(self.claims, Claims::Anonymous | Claims::Internal)
    }

    /// The origin to keep with the results of the command; `None` if there is nothing to record.
    pub fn kept(&self) -> Option<Box<Origin>> {
        (!self.is_plain()).then(|| Box::new(self.clone()))
    }

    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        size_of::<Origin>() + self.claims.weight()
    }
}

/// The caller, as the gateway has authenticated it. It travels with the command: permissions, groups and tenants are looked
/// up where the command is carried out. Cheap to clone.
///
/// There is no default: the sender of a command names the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Claims {
    /// A client of an API without logins: nothing is checked.
    Anonymous,
    User(Arc<Principal>),
    Client(Arc<Principal>),
    /// The engine itself, this node or its operator: nothing is checked.
    Internal,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Principal {
    /// User name or client id.
    pub id: Arc<str>,
    /// Groups that the token names; `None`: groups are managed in the cluster.
    pub groups: Option<Vec<Arc<str>>>,
    /// Text of a JSON object: all claims of the token, for mapping rules. Empty without a token.
    pub token: Arc<str>,
}

impl Claims {
    /// About how many bytes they take in memory, beside themselves.
    pub fn weight(&self) -> usize {
        let (Claims::User(principal) | Claims::Client(principal)) = self else {
            return 0;
        };
        let groups = principal.groups.iter().flatten();
        let groups: usize = groups
            .map(|group| size_of::<Arc<str>>() + group.len())
            .sum();
        size_of::<Principal>() + principal.id.len() + principal.token.len() + groups
    }

    /// As the record of the command shows it.
    pub fn to_json(&self) -> Value {
        let (name, principal) = match self {
            Claims::Internal => return json!({}),
            Claims::Anonymous => return json!({"authorized_anonymous_user": true}),
            Claims::User(principal) => ("authorized_username", principal),
            Claims::Client(principal) => ("authorized_client_id", principal),
        };
        let mut out = Map::new();
        out.insert(name.to_string(), json!(principal.id));
        if let Some(groups) = &principal.groups {
            out.insert("user_groups_claims".to_string(), json!(groups));
        }
        if !principal.token.is_empty() {
            let token: Value = serde_json::from_str(&principal.token).unwrap_or_default();
            out.insert("user_token_claims".to_string(), token);
        }
        Value::Object(out)
    }

    /// As events and rejections show it, which the command has caused: the name alone.
    pub fn name_to_json(&self) -> Value {
        match self {
            Claims::Internal | Claims::Anonymous => json!({}),
            Claims::User(principal) => json!({"authorized_username": principal.id}),
            Claims::Client(principal) => json!({"authorized_client_id": principal.id}),
        }
    }
}
