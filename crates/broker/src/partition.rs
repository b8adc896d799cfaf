//! One partition of one node.
//!
//! [`core`] joins engine and replica, [`parts`] has the partition's other tasks, and [`thread`] drives them: it alone has
//! clocks and threads.

mod attention;
pub mod busiest;
pub mod checkpoint;
pub mod core;
mod exporter_board;
mod handle;
mod inbox;
pub mod leadership;
mod message;
mod pace;
mod parts;
pub mod pending_rows;
mod replica_metrics;
pub mod requests;
pub mod restored_rows;
pub mod secondary;
mod snapshot_reader;
pub mod status;
pub mod thread;
mod work;

pub use self::exporter_board::ExporterBoard;
pub use self::handle::{OpenError, PartitionHandle};
pub use self::inbox::Inbox;
pub use self::message::{ClientRequest, LongEvaluation, Message, Notice, Report, Work};
pub(crate) use self::parts::checkpointer::open_engine;
pub use self::parts::effect_sink::{Effect, EffectSink, Others, WantedStore};
pub use self::parts::log_pins::LogPin;
#[cfg(test)]
pub use self::parts::log_pins::LogPins;
pub use self::parts::published_directory::PublishedDirectory;
#[cfg(test)]
pub use self::parts::standstill::Standstill;
pub use self::parts::timetable::Timetable;
pub use self::replica_metrics::ReplicaMetrics;
pub use self::secondary::{QueryResult, Secondary, StoreState};
pub use self::status::PartitionStatus;
pub(crate) use self::thread::engine_config;
pub use self::thread::{Base, STACK_BYTES};
