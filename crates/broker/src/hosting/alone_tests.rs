//! A broker alone, without secondary storage, for tests within this crate.

use std::path::Path;
use std::sync::Arc;

use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::router::{Broker, OpenError};

pub(crate) fn open(directory: &Path, partitions: u32) -> Result<Arc<Broker>, OpenError> {
    let config = BrokerConfig {
        directory: directory.to_path_buf(),
        partitions,
        secondary_storage: None,
        ..BrokerConfig::default()
    };
    Broker::open(config, Arc::new(Clock::default()))
}
