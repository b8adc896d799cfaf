//! Who comes in: passwords, and who somebody is.

pub mod passwords;
pub mod secret;
pub mod who;
