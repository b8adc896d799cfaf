//! Users and their permissions. No IO, no clock: the engine checks commands with it, the gateways check searches.
//!
//! - [`Directory`]: all users, groups, roles, tenants, mapping rules, memberships and authorizations, with an index for each
//!   look-up. A clone copies a pointer.
//! - [`Grants`]: the permissions of one caller, collected from all memberships.
//! - [`defaults`]: the roles and the tenant that every cluster has.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod claims;
pub mod defaults;
mod directory;
mod entry;
mod grants;
mod keys;
mod leaves;

pub use directory::{Directory, Limits, Parent};
pub use entry::Entry;
pub use grants::{Grants, Shared, Tenancy, Visible};
