//! Running instances: their elements, variables and pending activations.

pub mod ad_hoc;
pub mod continuation;
pub mod error;
pub mod multi_instance;
pub mod process_instance;
pub mod process_instance_batch;
pub mod process_instance_creation;
pub mod process_instance_migration;
pub mod process_instance_modification;
pub mod variable;
pub mod variable_document;
pub mod variable_element;
