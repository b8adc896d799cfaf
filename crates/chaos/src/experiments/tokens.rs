//! Callers need tokens of an identity provider.

pub mod token_expiry;
pub mod token_keys;
