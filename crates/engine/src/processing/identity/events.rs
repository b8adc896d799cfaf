//! Decisions of the first partition, to be distributed to the others.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_identity::{Entry, Parent};
use skep_protocol::intent::{
    AuthorizationIntent, GroupIntent, Intent, MappingRuleIntent, RoleIntent, TenantIntent,
    UserIntent,
};
use skep_protocol::value::{
    AuthorizationValue, GroupValue, MappingRuleValue, Member, ParentType, ParentValue,
    PasswordHash, RoleValue, TenantValue, UserValue,
};
use skep_protocol::{Key, Response, ValueType};

use crate::processing::Context;
use crate::processing::deployment::distribution;
use crate::remote::Distributed;

/// One event, with the id of its intent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum IdentityEvent {
    User(Key, u8, UserValue),
    Group(Key, u8, ParentValue),
    Role(Key, u8, ParentValue),
    Tenant(Key, u8, ParentValue),
    MappingRule(Key, u8, MappingRuleValue),
    Authorization(Key, u8, AuthorizationValue),
}

/// A change of a group, role or tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    Created,
    Updated,
    Deleted,
    EntityAdded,
    EntityRemoved,
}

impl IdentityEvent {
    pub(super) fn user(event: UserIntent, value: UserValue) -> IdentityEvent {
        IdentityEvent::User(value.user_key, event.id(), value)
    }

    pub(super) fn parent(kind: ParentType, became: Became, value: ParentValue) -> IdentityEvent {
        // The record of a role member has no key, as in the reference.
        let of_member = matches!(became, Became::EntityAdded | Became::EntityRemoved);
        match kind {
            ParentType::Group => IdentityEvent::Group(
                value.key,
                group_intent(became).id(),
                without_key(value, of_member),
            ),
            ParentType::Role => {
                let key = if of_member { Key::NONE } else { value.key };
                IdentityEvent::Role(key, role_intent(became).id(), without_key(value, of_member))
            }
            ParentType::Tenant => IdentityEvent::Tenant(
                value.key,
                tenant_intent(became).id(),
                without_key(value, of_member),
            ),
        }
    }

    /// The event of a member that joins or leaves the group, role or tenant with this key.
    pub(super) fn member(
        became: Became,
        parent: &Parent,
        key: Key,
        member: &Member,
    ) -> IdentityEvent {
        let value = ParentValue {
            key,
            id: parent.id.clone(),
            name: "".into(),
            description: "".into(),
            member: Some(member.clone()),
        };
        IdentityEvent::parent(parent.kind, became, value)
    }

    pub(super) fn authorization(
        event: AuthorizationIntent,
        value: AuthorizationValue,
    ) -> IdentityEvent {
        IdentityEvent::Authorization(value.authorization_key, event.id(), value)
    }

    /// The event that creates this row on another partition.
    pub(crate) fn of_entry(key: Key, entry: &Entry) -> IdentityEvent {
        let parent =
            |kind, value: &ParentValue| IdentityEvent::parent(kind, Became::Created, value.clone());
        let member = |kind, id: &Arc<str>, member: &Member| {
            let id = id.clone();
            let parent = Parent { kind, id };
            IdentityEvent::member(Became::EntityAdded, &parent, Key::NONE, member)
        };
        let event = match entry {
            Entry::User(value) => IdentityEvent::user(UserIntent::Created, value.clone()),
            Entry::Group(value) => parent(ParentType::Group, value),
            Entry::Role(value) => parent(ParentType::Role, value),
            Entry::Tenant(value) => parent(ParentType::Tenant, value),
            Entry::MappingRule(value) => {
                IdentityEvent::MappingRule(key, MappingRuleIntent::Created.id(), value.clone())
            }
            Entry::Authorization(value) => {
                IdentityEvent::authorization(AuthorizationIntent::Created, value.clone())
            }
            Entry::GroupMember { parent, member: it } => member(ParentType::Group, parent, it),
            Entry::RoleMember { parent, member: it } => member(ParentType::Role, parent, it),
            Entry::TenantMember { parent, member: it } => member(ParentType::Tenant, parent, it),
        };
        event.for_others()
    }

    /// The event as other partitions receive it, without e-mail addresses and passwords.
    fn for_others(&self) -> IdentityEvent {
        match self {
            IdentityEvent::User(key, event, user) => {
                let user = UserValue {
                    user_key: user.user_key,
                    username: user.username.clone(),
                    name: "".into(),
                    email: "".into(),
                    password: PasswordHash::default(),
                };
                IdentityEvent::User(*key, *event, user)
            }
            IdentityEvent::Group(..)
            | IdentityEvent::Role(..)
            | IdentityEvent::Tenant(..)
            | IdentityEvent::MappingRule(..)
            | IdentityEvent::Authorization(..) => self.clone(),
        }
    }

    fn write(&self, cx: &mut Context<'_>) {
        // An id that this version does not know comes from a newer node: new records wait until all nodes know them.
        match self {
            IdentityEvent::User(key, event, value) => {
                if let Some(event) = UserIntent::from_id(*event) {
                    cx.event(*key, event, value);
                }
            }
            IdentityEvent::Group(key, event, value) => {
                if let Some(event) = GroupIntent::from_id(*event) {
                    cx.event(*key, event, &GroupValue(value.clone()));
                }
            }
            IdentityEvent::Role(key, event, value) => {
                if let Some(event) = RoleIntent::from_id(*event) {
                    cx.event(*key, event, &RoleValue(value.clone()));
                }
            }
            IdentityEvent::Tenant(key, event, value) => {
                if let Some(event) = TenantIntent::from_id(*event) {
                    cx.event(*key, event, &TenantValue(value.clone()));
                }
            }
            IdentityEvent::MappingRule(key, event, value) => {
                if let Some(event) = MappingRuleIntent::from_id(*event) {
                    cx.event(*key, event, value);
                }
            }
            IdentityEvent::Authorization(key, event, value) => {
                if let Some(event) = AuthorizationIntent::from_id(*event) {
                    cx.event(*key, event, value);
                }
            }
        }
    }

    /// Value type and intent of the command behind the event: its intent number is the one before that of the event.
    pub(crate) fn command(&self) -> (ValueType, u8) {
        let (value_type, event) = match self {
            IdentityEvent::User(_, event, _) => (ValueType::User, event),
            IdentityEvent::Group(_, event, _) => (ValueType::Group, event),
            IdentityEvent::Role(_, event, _) => (ValueType::Role, event),
            IdentityEvent::Tenant(_, event, _) => (ValueType::Tenant, event),
            IdentityEvent::MappingRule(_, event, _) => (ValueType::MappingRule, event),
            IdentityEvent::Authorization(_, event, _) => (ValueType::Authorization, event),
        };
        (value_type, event.saturating_sub(1))
    }

    pub(crate) fn key(&self) -> Key {
        match self {
            IdentityEvent::User(key, ..)
            | IdentityEvent::Group(key, ..)
            | IdentityEvent::Role(key, ..)
            | IdentityEvent::Tenant(key, ..)
            | IdentityEvent::MappingRule(key, ..)
            | IdentityEvent::Authorization(key, ..) => *key,
        }
    }
}

fn without_key(value: ParentValue, of_member: bool) -> ParentValue {
    if of_member {
        ParentValue {
            key: Key::NONE,
            ..value
        }
    } else {
        value
    }
}

fn group_intent(became: Became) -> GroupIntent {
    match became {
        Became::Created => GroupIntent::Created,
        Became::Updated => GroupIntent::Updated,
        Became::Deleted => GroupIntent::Deleted,
        Became::EntityAdded => GroupIntent::EntityAdded,
        Became::EntityRemoved => GroupIntent::EntityRemoved,
    }
}

fn role_intent(became: Became) -> RoleIntent {
    match became {
        Became::Created => RoleIntent::Created,
        Became::Updated => RoleIntent::Updated,
        Became::Deleted => RoleIntent::Deleted,
        Became::EntityAdded => RoleIntent::EntityAdded,
        Became::EntityRemoved => RoleIntent::EntityRemoved,
    }
}

fn tenant_intent(became: Became) -> TenantIntent {
    match became {
        Became::Created => TenantIntent::Created,
        Became::Updated => TenantIntent::Updated,
        Became::Deleted => TenantIntent::Deleted,
        Became::EntityAdded => TenantIntent::EntityAdded,
        Became::EntityRemoved => TenantIntent::EntityRemoved,
    }
}

/// The events of one command, in their order.
#[derive(Default)]
pub(super) struct Decided(Vec<IdentityEvent>);

impl Decided {
    /// Writes the event here and keeps it for the other partitions.
    pub fn event(&mut self, cx: &mut Context<'_>, event: IdentityEvent) {
        event.write(cx);
        self.0.push(event.for_others());
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Distributes the events to the other partitions; the answer waits for them.
    pub fn spread(self, cx: &mut Context<'_>, answer: Response) -> Option<Response> {
        debug_assert!(
            !self.0.is_empty(),
            "a change that changes nothing is refused"
        );
        debug_assert_eq!(cx.state.partition, 1, "the first partition decides");
        let distribution = cx.next_key();
        distribution::start(cx, distribution, Distributed::Identity(self.0), answer)
    }

    /// Distributes a part of a change, whose last part has the answer. The other partitions get the parts in order.
    pub fn spread_part(self, cx: &mut Context<'_>) {
        let distribution = cx.next_key();
        distribution::spread(cx, distribution, Distributed::Identity(self.0));
    }
}

/// Writes the first partition's decisions on another partition.
pub(crate) fn arrived(cx: &mut Context<'_>, events: &[IdentityEvent]) {
    for event in events {
        event.write(cx);
    }
}
