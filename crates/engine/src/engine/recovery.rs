//! Recovery of the log after a checkpoint, window by window.

use skep_protocol::record::DecodeError;

use super::Engine;
use crate::appliers::window::Window;

impl Engine {
    /// Applies consecutive committed batches as [`Engine::apply`] does, but skips instances that begin and end within them.
    /// Returns the number of skipped process instances. An error carries the number of the batch that cannot be applied;
    /// the state is then unusable.
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
            // Some batch cannot be read: applying it yields the error.
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
