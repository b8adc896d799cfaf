//! Secondary storage as a part of a backup: a copy of the embedded store's file, made beside it and removed afterwards.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use skep_backup::{BackupError, PIECE, Upload};
use skep_secondary::Store;

/// A copy that is removed on drop.
struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Copies the store and writes the copy to the backup. `wanted`: whether to continue.
pub fn upload(
    store: &Store,
    copy: &Path,
    upload: &mut Upload,
    wanted: impl Fn() -> bool,
) -> Result<(), String> {
    let copy = Copy(copy.to_path_buf());
    store
        .copy(&copy.0)
        .map_err(|error| format!("secondary storage cannot be copied: {error}"))?;
    let text = |error: std::io::Error| BackupError::from(error).to_string();
    let mut goes_on = || {
        let given_up = || "the backup no longer waits for it".to_string();
        wanted().then_some(()).ok_or_else(given_up)
    };
    let mut file = File::open(&copy.0).map_err(text)?;
    loop {
        let mut piece = Vec::new();
        let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece);
        if read.map_err(text)? == 0 {
            return Ok(());
        }
        upload.wait(&mut goes_on)?;
        upload.add(&piece).map_err(|error| error.to_string())?;
    }
}
