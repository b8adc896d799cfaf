//! Who there is and what each may do. No IO, no clock: the engine decides by it when a command is carried out, the gateways when
//! something is searched for.
//!
//! - [`Directory`]: all users, groups, roles, tenants, mapping rules, memberships and authorizations, by whatever they are looked up by.
//!   To clone it is to copy a pointer.
//! - [`Grants`]: what one caller may do, put together from everything that he is a member of.
//! - [`defaults`]: roles and tenant that every cluster has.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod claims;
pub mod defaults;
mod directory;
mod entry;
mod grants;

pub use directory::{Directory, Limits, Parent};
pub use entry::Entry;
pub use grants::{Grants, Tenancy, Visible};
