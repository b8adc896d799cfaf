//! Deployments, the deletion of resources, and their distribution to all partitions.

pub(crate) mod create;
pub(crate) mod delete_resource;
pub(crate) mod distribution;
mod parse;
mod plan;
mod starts;

pub(crate) use parse::{Parsed, all as read};
