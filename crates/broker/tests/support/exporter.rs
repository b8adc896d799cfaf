//! An exporter with a target in memory, which may be unavailable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use skep_exporting::{
    Beginning, Bulk, Exporter, ExporterConfig, Make, Position, Tally, TargetError,
};
use skep_protocol::batch::BatchReader;

/// Number of arrivals of each record of the only partition, by position.
#[derive(Debug, Default)]
pub struct Target {
    pub records: BTreeMap<u64, usize>,
    pub is_away: bool,
    /// Positions and configurations with which exporters started.
    pub beginnings: Vec<(Position, Vec<u8>)>,
}

#[derive(Clone, Debug, Default)]
pub struct Fake(pub Arc<Mutex<Target>>);

impl Fake {
    /// An exporter with this name that writes to this target.
    pub fn named(&self, id: &str) -> ExporterConfig {
        ExporterConfig {
            id: id.to_string(),
            make: Arc::new(self.clone()),
        }
    }
}

struct Exporting {
    target: Fake,
    taken: Vec<u64>,
    position: Position,
    count: u8,
}

impl Make for Fake {
    fn exporter(&self, beginning: Beginning) -> Box<dyn Exporter> {
        let begins = (beginning.position, beginning.metadata.clone());
        self.0.lock().beginnings.push(begins);
        Box::new(Exporting {
            target: self.clone(),
            taken: Vec::new(),
            position: beginning.position,
            count: beginning.metadata.first().copied().unwrap_or(0),
        })
    }
}

impl Exporter for Exporting {
    fn open(&mut self) -> Result<Option<Position>, TargetError> {
        Ok(None)
    }

    fn bulk(&self) -> Bulk {
        Bulk::default()
    }

    fn take(
        &mut self,
        _entry: u64,
        payload: &[u8],
        _tally: &mut Tally,
    ) -> Result<(u64, i64), TargetError> {
        let mut reader = BatchReader::new(payload).unwrap();
        for record in reader.by_ref() {
            self.taken.push(record.unwrap().position);
        }
        Ok((reader.position() - 1, reader.timestamp()))
    }

    fn is_full(&self) -> bool {
        self.taken.len() > 1000
    }

    fn window(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn flush(&mut self, to: Position) -> Result<(), TargetError> {
        let mut target = self.target.0.lock();
        if target.is_away {
            return Err(TargetError::Busy("the target is away".to_string()));
        }
        for position in self.taken.drain(..) {
            *target.records.entry(position).or_default() += 1;
        }
        self.position = to;
        self.count = self.count.wrapping_add(1);
        Ok(())
    }

    fn durable(&self) -> Position {
        self.position
    }

    fn metadata(&self) -> Vec<u8> {
        vec![self.count]
    }
}
