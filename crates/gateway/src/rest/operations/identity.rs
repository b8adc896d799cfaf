//! Operations of users, their rights and their tenants.

pub(super) mod authentication;
pub(super) mod authorizations;
pub(super) mod groups;
pub(super) mod mapping_rules;
pub(super) mod roles;
pub(super) mod setup;
pub(super) mod tenants;
pub(super) mod users;
