//! Scopes: elements with children, and the processes that they call.

pub(crate) mod ad_hoc_sub_process;
pub(crate) mod call_activity;
pub(crate) mod container;
pub(crate) mod event_sub_process;
pub(crate) mod multi_instance;
pub(crate) mod output_collection;
pub(crate) mod process;
pub(crate) mod sub_process;
