//! A user whose permission to create instances comes and goes. Once a change is acknowledged, every partition acts on it.

use skep_engine::RequestId;
use skep_protocol::command::*;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::*;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::super::Random;
use super::clients::{Clients, Pending};

const USER: &str = "anna";
/// The role that may create instances of every process.
const ROLE: &str = "clerk";

/// A link of the chain from the user to her permission, which is there or not. At first it is not.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Number of the last change of it that was sent, and what that makes of it.
    change: u64,
    becomes: bool,
    /// That change is not acknowledged.
    is_open: bool,
}

impl Link {
    fn sent(&mut self, change: u64, becomes: bool) {
        *self = Link {
            change,
            becomes,
            is_open: true,
        };
    }

    /// Whether it is there on all partitions, if clients know that.
    fn known(self) -> Option<bool> {
        (!self.is_open).then_some(self.becomes)
    }
}

/// What clients know of the user's permission. Operators change it: they create and delete the role, its authorization and her membership.
#[derive(Default)]
pub struct Rights {
    /// The user exists.
    prepared: bool,
    /// Number of changes sent.
    changes: u64,
    role: Link,
    granted: Link,
    member: Link,
    /// The key of the role's authorization, if its creation was acknowledged.
    authorization: Option<Key>,
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
            permitted: self.permitted(),
        }
    }

    fn links(&self) -> [Link; 3] {
        [self.role, self.granted, self.member]
    }

    /// Whether all partitions permit it; `None` if that is not known.
    fn permitted(&self) -> Option<bool> {
        let links = self.links().map(Link::known);
        if links.contains(&Some(false)) {
            Some(false)
        } else {
            (links == [Some(true); 3]).then_some(true)
        }
    }

    /// The next change: mostly one towards the permission, otherwise away from it.
    fn change(&mut self, random: &mut Random) -> IdentityCommand {
        self.changes += 1;
        let links = self.links();
        let missing = links.iter().position(|link| link.known() != Some(true));
        let at = match missing {
            Some(at) if random.below(8) > 0 => at,
            _ => [0, 1, 1, 2, 2, 2][random.below(6) as usize],
        };
        let gives = match links[at].known() {
            Some(is_there) => !is_there,
            None => random.below(4) > 0,
        };
        match (at, gives, self.authorization) {
            (1, true, _) => {
                self.granted.sent(self.changes, true);
                IdentityCommand::CreateAuthorization(authorization())
            }
            (1, false, Some(authorization_key)) => {
                self.granted.sent(self.changes, false);
                self.authorization = None;
                IdentityCommand::DeleteAuthorization { authorization_key }
            }
            (2, true, _) => {
                self.member.sent(self.changes, true);
                IdentityCommand::AddToRole(membership())
            }
            (2, false, _) => {
                self.member.sent(self.changes, false);
                IdentityCommand::RemoveFromRole(membership())
            }
            (_, true, _) => {
                self.role.sent(self.changes, true);
                IdentityCommand::CreateRole(role())
            }
            // With the role, everything that belongs to it goes.
            (_, false, _) => {
                for link in [&mut self.role, &mut self.granted, &mut self.member] {
                    link.sent(self.changes, false);
                }
                self.authorization = None;
                IdentityCommand::DeleteRole { id: ROLE.into() }
            }
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

fn user() -> UserValue {
    UserValue {
        user_key: Key::NONE,
        username: USER.into(),
        name: "".into(),
        // Other partitions than the first one have neither.
        email: "".into(),
        password: PasswordHash::default(),
    }
}

fn role() -> NewParent {
    NewParent {
        id: ROLE.into(),
        name: ROLE.into(),
        description: "".into(),
    }
}

fn authorization() -> AuthorizationValue {
    AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: OwnerType::Role,
        owner_id: ROLE.into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Any,
        permissions: vec![PermissionType::CreateProcessInstance],
    }
}

fn membership() -> Membership {
    Membership {
        parent: ROLE.into(),
        member: Member::new(EntityType::User, USER),
    }
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
    /// The next change of the user's permission, or a use of it on this partition.
    pub fn change_rights(&mut self, random: &mut Random, any: u32) -> (RequestId, Command) {
        if !self.rights.prepared {
            let prepare = IdentityCommand::CreateUser(user());
            return (
                self.asks(Pending::Prepare, None),
                Command::Identity(prepare),
            );
        }
        // What all links together permit is used before one of them goes.
        if self.rights.permitted() == Some(true) && random.below(4) > 0 {
            return self.create_as_user(any);
        }
        let change = self.rights.change(random);
        let asked = Pending::Rights(self.rights.changes);
        (self.asks(asked, None), Command::Identity(change))
    }

    pub fn is_prepared(&mut self) {
        self.rights.prepared = true;
    }

    /// A change of the user's permission was carried out everywhere.
    pub fn rights_changed(&mut self, change: u64, response: &Response) {
        let rights = &mut self.rights;
        let links = [&mut rights.role, &mut rights.granted, &mut rights.member];
        for link in links.into_iter().filter(|link| link.change == change) {
            link.is_open = false;
        }
        // A later change may have deleted an earlier one.
        match response {
            Response::AuthorizationCreated { authorization_key }
                if rights.granted.change == change =>
            {
                rights.authorization = Some(*authorization_key);
            }
            _ => {}
        }
    }
}
