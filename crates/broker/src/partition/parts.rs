//! The parts of a partition. Each owns its fields, borrows what it needs, and gets the time as an argument: none has a clock or a thread,
//! so a simulation can drive them just like the partition's thread.

pub mod background;
pub mod checkpointer;
pub mod checks;
pub mod choosing;
pub mod delivery;
pub mod effect_sink;
pub mod environment;
pub mod exporters;
pub mod hand_over;
pub mod installing;
pub mod intake;
mod known;
pub mod log_pins;
pub mod log_pipe;
pub mod panics;
pub mod published_directory;
mod refill;
pub mod snapshot_receiver;
pub mod snapshot_sender;
pub mod standstill;
pub mod timetable;

#[cfg(test)]
mod tests;
