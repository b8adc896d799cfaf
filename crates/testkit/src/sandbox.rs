//! Private file systems for tests: a test runs itself again in its own mount and process namespaces and mounts whatever it needs there.
//!
//! When the inner process ends, however it ends, the kernel kills what it started, unmounts what it mounted and detaches
//! its loop devices. Where namespaces or mounts are not permitted the test says so on standard error, which `make test` counts.

use std::future::Future;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Set in the inner process: the directory that the outer process created for it.
const INSIDE: &str = "SKEP_SANDBOX";
/// Time limit after which the test counts as hanging: longer than everything that such a test waits for.
const LIMIT: &str = "900s";
/// Variable that requests more rounds, which take longer.
const MORE_ROUNDS: &str = "SKEP_POWER_CUTS";
/// How long somebody may use a file system that is to be unmounted.
const UNMOUNTED: Duration = Duration::from_secs(60);
/// Exit code of the inner process if the machine does not permit its work.
const NOT_RUN: i32 = 77;

/// Runs the test `name` (its path within the test binary) in its own namespaces. The body gets an empty directory.
pub fn run<F: Future<Output = ()>>(name: &str, body: impl FnOnce(PathBuf) -> F) {
    match std::env::var_os(INSIDE) {
        Some(directory) => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(6)
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(body(directory.into())),
        None => outer(name),
    }
}

fn outer(name: &str) {
    let mut namespaces = vec!["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    if !permitted(&namespaces) {
        namespaces.extend(["--user", "--map-root-user"]);
        if !permitted(&namespaces) {
            return say_not_run(
                name,
                "`unshare --mount --pid` is not permitted or not installed",
            );
        }
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let limit = match std::env::var_os(MORE_ROUNDS) {
        Some(_) => "24h",
        None => LIMIT,
    };
    // Killing it ends everything it started; the output up to then is reported.
    let output = Command::new("timeout")
        .args(["--signal=KILL", limit, "unshare"])
        .args(&namespaces)
        .arg(std::env::current_exe().expect("the path of this test"))
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(INSIDE, directory.path())
        .output()
        .expect("timeout and unshare start");
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    match output.status.code() {
        Some(0) => {
            // A misspelt name would run nothing and pass.
            assert!(out.contains("1 passed"), "{name} did not run:\n{out}");
            println!("{out}{error}");
        }
        Some(NOT_RUN) => say_not_run(name, error.trim()),
        _ => panic!("{}\n{out}{error}", output.status),
    }
}

fn permitted(namespaces: &[&str]) -> bool {
    let tried = Command::new("unshare")
        .args(namespaces)
        .arg("true")
        .output();
    tried.is_ok_and(|output| output.status.success())
}

/// Bypasses the capture of the test harness: readers of the log must see that something was not tested.
fn say_not_run(name: &str, why: &str) {
    let text =
        format!("NOT RUN (sandbox): {name}: {why}. It needs root, mounts and loop devices.\n");
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Ends the inner process: this machine does not permit what the test needs.
fn not_permitted(what: &str, why: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{what}: {}", why.trim());
    std::process::exit(NOT_RUN)
}

fn command(program: &str, arguments: &[&str]) -> Result<(), String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A tool that the test needs; without it the test is not run.
pub fn require(tool: &str, arguments: &[&str]) {
    if let Err(why) = command(tool, arguments) {
        not_permitted(tool, &why);
    }
}

/// A mounted file system of a limited size.
pub struct FileSystem {
    pub root: PathBuf,
    /// The image behind it, if it is a loop device.
    image: Option<PathBuf>,
}

impl FileSystem {
    /// A file system in memory.
    pub fn tmpfs(directory: &Path, mebibytes: u64) -> FileSystem {
        let root = directory.join("tmpfs");
        std::fs::create_dir_all(&root).expect("a mount point");
        let size = format!("size={mebibytes}m");
        let mounted = command("mount", &["-t", "tmpfs", "-o", &size, "none", text(&root)]);
        if let Err(why) = mounted {
            not_permitted("mounting a tmpfs", &why);
        }
        FileSystem { root, image: None }
    }

    /// An ext4 file system on a loop device.
    pub fn ext4(directory: &Path, mebibytes: u64) -> FileSystem {
        let (root, image) = (directory.join("ext4"), directory.join("image"));
        std::fs::create_dir_all(&root).expect("a mount point");
        let file = std::fs::File::create(&image).expect("an image");
        file.set_len(mebibytes << 20).expect("its length");
        // No blocks reserved for root: full is full for this test too.
        let made = command("mkfs.ext4", &["-q", "-m", "0", text(&image)]);
        if let Err(why) = made {
            not_permitted("mkfs.ext4", &why);
        }
        let file_system = FileSystem {
            root,
            image: Some(image),
        };
        file_system.mount();
        file_system
    }

    fn mount(&self) {
        let image = self.image.as_deref().expect("a file system with an image");
        let mounted = command("mount", &["-o", "loop", text(image), text(&self.root)]);
        if let Err(why) = mounted {
            not_permitted("mounting an ext4 image on a loop device", &why);
        }
    }

    /// Unmounts an image while a server may be using it; its mount point is an empty directory then. Waits until nobody has a file open.
    pub fn take_away(&self) {
        let began = Instant::now();
        while let Err(why) = command("umount", &[text(&self.root)]) {
            assert!(began.elapsed() < UNMOUNTED, "still in use: {why}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Mounts an image again.
    pub fn bring_back(&self) {
        self.mount();
    }

    /// Free bytes.
    pub fn free(&self) -> u64 {
        let stat = rustix::fs::statvfs(&self.root).expect("statvfs");
        stat.f_bavail * stat.f_frsize
    }

    /// Fills the disk until about this many bytes are left.
    pub fn fill_but(&self, left: u64) -> Filler {
        let (path, mut file) = filler(&self.root);
        let block = vec![1; 1 << 20];
        while self.free() > left {
            file.write_all(&block).expect("there is room");
            // Delayed allocations must take their space as well.
            file.sync_all().expect("there is room");
        }
        Filler { path, file }
    }

    /// Fills the disk to the last byte.
    pub fn fill(&self) -> Filler {
        let (path, file) = filler(&self.root);
        let mut filler = Filler { path, file };
        filler.take_more();
        filler
    }

    /// Makes a switch that cuts the power at once: unflushed writes are lost, and reads and writes fail until [`Self::power_on`].
    pub fn switch(&self) -> Switch {
        // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH. An ioctl would need unsafe code here, and an interpreter that waits for its
        // line takes effect without delay.
        let script = "import fcntl, os, struct, sys\n\
                      root = os.open(sys.argv[1], os.O_RDONLY)\n\
                      print('ready', flush=True)\n\
                      if sys.stdin.readline(): fcntl.ioctl(root, 0x8004587D, struct.pack('I', 2))";
        let python = Command::new("python3")
            .args(["-c", script, text(&self.root)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut python = python.unwrap_or_else(|why| not_permitted("python3", &why.to_string()));
        let ready = python
            .stdout
            .as_mut()
            .map(|out| out.read_exact(&mut [0; 6]));
        assert!(matches!(ready, Some(Ok(()))), "python3 does not start");
        Switch(python)
    }

    /// Remounts the disk with its surviving content. Nobody may use the file system any more.
    pub fn power_on(&self) {
        command("umount", &[text(&self.root)]).expect("nobody uses the file system");
        self.mount();
    }
}

fn filler(root: &Path) -> (PathBuf, std::fs::File) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = root.join(format!("filler-{number}"));
    let file = std::fs::File::create(&path).expect("a filler");
    (path, file)
}

/// See [`FileSystem::switch`].
pub struct Switch(Child);

impl Switch {
    pub fn off(mut self) {
        drop(self.0.stdin.take().map(|mut line| line.write_all(b"off\n")));
        let status = self.0.wait().expect("python3 ends");
        if !status.success() {
            not_permitted("shutting ext4 down", "the ioctl failed");
        }
    }
}

/// A file that takes up space until it is dropped.
pub struct Filler {
    path: PathBuf,
    file: std::fs::File,
}

impl Filler {
    /// Takes all space that is free now.
    pub fn take_more(&mut self) {
        let mut block = vec![1; 1 << 20];
        loop {
            match self.file.write_all(&block) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                    if block.len() <= 512 {
                        break;
                    }
                    block.truncate(block.len() / 2);
                }
                Err(error) => panic!("filling failed: {error}"),
            }
        }
        // Delayed allocations must take their space as well.
        let _ = self.file.sync_all();
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
