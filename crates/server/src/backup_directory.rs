//! Checks at the start that a directory for backups can be used, so that not the first backup finds out.

use std::path::Path;

use rustix::fs::{Access, access};
use skep_backup::Location;

/// The reason why this server cannot write to the directory; `None` if it can, or if the location is no directory.
pub fn unusable(location: &Location) -> Option<String> {
    let Location::Directory(directory) = location else {
        return None;
    };
    // The first backup creates what is missing.
    let existing = directory.ancestors().find(|it| it.exists());
    let existing = existing.unwrap_or(Path::new("."));
    if !existing.is_dir() {
        return Some(format!("{} is no directory", existing.display()));
    }
    let refused = access(existing, Access::WRITE_OK | Access::EXEC_OK).err()?;
    Some(format!("{}: {refused}", existing.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_where_no_directory_can_be_is_found() {
        let here = tempfile::tempdir().unwrap();
        let of = |path: &Path| unusable(&Location::Directory(path.to_path_buf()));
        assert_eq!(of(here.path()), None);
        assert_eq!(of(&here.path().join("new/deep")), None);
        assert_eq!(of(Path::new("relative")), None);
        let file = here.path().join("file");
        std::fs::write(&file, "").unwrap();
        let reason = of(&file.join("backups")).unwrap();
        assert!(reason.ends_with("file is no directory"), "{reason}");
    }
}
