//! Specifications of the engine: BPMN in, commands in, records out. One file per behaviour.

#[path = "../support/mod.rs"]
mod support;

mod banning;
mod boundary_message;
mod boundary_timer;
mod broken_rules;
mod budget;
mod call_activity;
mod cancel;
mod checkpoint;
mod clock;
mod creation;
mod cycles;
mod deployment;
mod distribution;
mod error_event;
mod exclusive_gateway;
mod expression;
mod incidents;
mod interleaving;
mod job_kinds;
mod job_push;
mod jobs;
mod large_jobs;
mod many_variables;
mod mappings;
mod memory;
mod message_catch;
mod message_correlation;
mod message_partitions;
mod message_start;
mod multi_instance;
mod parallel_gateway;
mod readable_variables;
mod receive_task;
mod record_names;
mod row_versions;
mod runaway;
mod service_task;
mod stored_definitions;
mod sub_process;
mod terminate_end_event;
mod timer_catch;
mod timer_start;
mod variables;
