//! A user whose permission to create instances comes and goes. Once a change is acknowledged, every partition acts on it.

use skep_engine::RequestId;
use skep_protocol::command::*;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::*;
use skep_protocol::{Key, Rejection, RejectionType};

use super::clients::{Clients, Pending};

const USER: &str = "anna";
/// The role that may create instances of every process.
const ROLE: &str = "clerk";

/// What clients know of the user's permission. One of them changes it.
#[derive(Default)]
pub struct Rights {
    /// Number of acknowledged steps of the set-up.
    prepared: usize,
    /// Number of changes sent.
    changes: u64,
    /// Whether the last change gave the permission.
    gives: bool,
    /// Whether all partitions permit it; `None` before the last change is acknowledged.
    permitted: Option<bool>,
}

/// What was known when the user sent a request.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    changes: u64,
    permitted: Option<bool>,
}

impl Rights {
    pub fn known(&self) -> Known {
        Known {
            changes: self.changes,
            permitted: self.permitted,
        }
    }

    /// Checks the answer to a request of the user, if it is hers. Nothing is known of one that a change has overtaken.
    pub fn check(&self, known: Option<Known>, refused: Option<&Rejection>) {
        let Some(known) = known else { return };
        if let Some(refused) = refused {
            assert_eq!(refused.kind, RejectionType::Forbidden, "{refused:?}");
        }
        let is_current = known.changes == self.changes;
        let Some(permitted) = known.permitted.filter(|_| is_current) else {
            return;
        };
        assert_eq!(
            refused.is_none(),
            permitted,
            "the last change of permissions was acknowledged, and the answer is {refused:?}"
        );
    }
}

/// The steps of the set-up.
fn preparations() -> [IdentityCommand; 3] {
    let user = UserValue {
        user_key: Key::NONE,
        username: USER.into(),
        name: "".into(),
        // Other partitions than the first one have neither.
        email: "".into(),
        password: PasswordHash::default(),
    };
    let role = NewParent {
        id: ROLE.into(),
        name: ROLE.into(),
        description: "".into(),
    };
    let authorization = AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: OwnerType::Role,
        owner_id: ROLE.into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Any,
        permissions: vec![PermissionType::CreateProcessInstance],
    };
    [
        IdentityCommand::CreateUser(user),
        IdentityCommand::CreateRole(role),
        IdentityCommand::CreateAuthorization(authorization),
    ]
}

/// The user, as a gateway has authenticated her.
pub fn claims() -> Claims {
    let principal = Principal {
        id: USER.into(),
        ..Principal::default()
    };
    Claims::User(principal.into())
}

impl Clients {
    /// The next change of the user's permission: it is given and taken in turn.
    pub fn change_rights(&mut self) -> (RequestId, Command) {
        let rights = &mut self.rights;
        let preparations = preparations();
        if let Some(step) = preparations.into_iter().nth(rights.prepared) {
            let prepare = Pending::Prepare(rights.prepared);
            return (self.asks(prepare, None), Command::Identity(step));
        }
        rights.changes += 1;
        rights.gives = !rights.gives;
        rights.permitted = None;
        let membership = Membership {
            parent: ROLE.into(),
            member: Member::new(EntityType::User, USER),
        };
        let change = if rights.gives {
            IdentityCommand::AddToRole(membership)
        } else {
            IdentityCommand::RemoveFromRole(membership)
        };
        let asked = Pending::Rights(rights.changes);
        (self.asks(asked, None), Command::Identity(change))
    }

    pub fn is_prepared(&mut self, step: usize) {
        self.rights.prepared = self.rights.prepared.max(step + 1);
    }

    /// A change of the user's permission was carried out everywhere.
    pub fn rights_changed(&mut self, change: u64) {
        if change == self.rights.changes {
            self.rights.permitted = Some(self.rights.gives);
        }
    }
}
