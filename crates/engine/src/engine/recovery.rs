//! Recovery of the log after a checkpoint, window by window.

use skep_protocol::record::DecodeError;

use super::Engine;
use crate::appliers::window::Window;

impl Engine {
    /// Applies committed batches that follow each other: as [`Engine::apply`] does, but without what begins and ends within
    /// them. Returns how many process instances that were. On an error the number of the batch that cannot be applied comes
    /// with it; the state is void then.
    pub fn apply_window(&mut self, batches: &[&[u8]]) -> Result<usize, (usize, DecodeError)> {
        if let [batch] = batches {
            return self.apply(batch).map(|()| 0).map_err(|error| (0, error));
        }
        let bytes = batches.iter().map(|batch| batch.len()).sum();
        let mut window = Window::of_bytes(self.config.partition, bytes);
        let mut end = None;
        for batch in batches {
            end = window.look(batch);
            if end.is_none() {
                break;
            }
        }
        let Some(end) = end else {
            // There is a batch that cannot be read: applying says why.
            for (number, batch) in batches.iter().enumerate() {
                self.apply(batch).map_err(|error| (number, error))?;
            }
            return Ok(0);
        };
        window.apply(&mut self.state, batches)?;
        self.out.reset(end);
        Ok(window.passed_over())
    }
}
