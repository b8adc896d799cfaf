//! An entry of the directory, as the engine stores it in a row.

use serde::{Deserialize, Serialize};
use skep_protocol::value::{
    AuthorizationValue, MappingRuleValue, Member, ParentType, ParentValue, UserValue,
};

use crate::directory::Parent;

/// A row. The order of the variants is part of the storage format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    User(UserValue),
    Group(ParentValue),
    Role(ParentValue),
    Tenant(ParentValue),
    MappingRule(MappingRuleValue),
    Authorization(AuthorizationValue),
    GroupMember {
        parent: std::sync::Arc<str>,
        member: Member,
    },
    RoleMember {
        parent: std::sync::Arc<str>,
        member: Member,
    },
    TenantMember {
        parent: std::sync::Arc<str>,
        member: Member,
    },
}

impl Entry {
    pub fn parent(kind: ParentType, value: ParentValue) -> Entry {
        match kind {
            ParentType::Group => Entry::Group(value),
            ParentType::Role => Entry::Role(value),
            ParentType::Tenant => Entry::Tenant(value),
        }
    }

    pub fn membership(parent: &Parent, member: Member) -> Entry {
        let id = parent.id.clone();
        match parent.kind {
            ParentType::Group => Entry::GroupMember { parent: id, member },
            ParentType::Role => Entry::RoleMember { parent: id, member },
            ParentType::Tenant => Entry::TenantMember { parent: id, member },
        }
    }

    /// Approximate bytes of its texts and lists.
    pub fn weight(&self) -> usize {
        match self {
            Entry::User(user) => user.weight(),
            Entry::Group(value) | Entry::Role(value) | Entry::Tenant(value) => value.weight(),
            Entry::MappingRule(rule) => rule.weight(),
            Entry::Authorization(authorization) => authorization.weight(),
            Entry::GroupMember { parent, member }
            | Entry::RoleMember { parent, member }
            | Entry::TenantMember { parent, member } => parent.len() + member.weight(),
        }
    }
}
