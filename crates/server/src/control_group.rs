//! The control groups of this process, as those of its container: directories whose files show what the kernel lets it use.

use std::path::{Path, PathBuf};

/// Where the kernel shows all groups.
pub const ROOT: &str = "/sys/fs/cgroup";

/// The groups of a process that may have limits of one kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Groups {
    /// Its own group first, then those above it.
    pub directories: Vec<PathBuf>,
    /// Whether these are groups of version 2, whose files have other names than those of version 1.
    pub unified: bool,
}

/// The groups of this process with this controller.
pub fn of_this_process(controller: &str) -> Option<Groups> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    groups(&text, Path::new(ROOT), controller)
}

/// `text` is that of a `/proc/PID/cgroup`.
pub fn groups(text: &str, root: &Path, controller: &str) -> Option<Groups> {
    let lines = text.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        line.split_once(':')
    });
    let lines: Vec<(&str, &str)> = lines.collect();
    // Where both versions are used, a controller of version 1 is not one of version 2.
    let first = lines
        .iter()
        .find(|(names, _)| names.split(',').any(|name| name == controller));
    let (unified, root, group) = match first {
        Some((_, group)) => (false, root.join(controller), group),
        None => {
            let (_, group) = lines.iter().find(|(names, _)| names.is_empty())?;
            (true, root.to_path_buf(), group)
        }
    };
    let group = Path::new(group.trim_start_matches('/'));
    let directories = group.ancestors().map(|group| root.join(group)).collect();
    Some(Groups {
        directories,
        unified,
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A directory with these files.
    pub fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_process_has_groups_of_either_version() {
        let root = Path::new("/r");
        let found = |text| groups(text, root, "cpu").map(|it| (it.unified, it.directories));
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            found("0::/a/b\n"),
            Some((true, paths(&["/r/a/b", "/r/a", "/r/"])))
        );
        assert_eq!(
            found("5:cpuset:/x\n4:cpu,cpuacct:/pod\n0::/\n"),
            Some((false, paths(&["/r/cpu/pod", "/r/cpu/"])))
        );
        assert_eq!(found("5:cpuset:/x\n"), None);
        assert_eq!(found("nonsense"), None);
    }
}
