//! Embeds what `make ui` left in `ui/dist`. Node is never run here: without those files the crate builds, and says so.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/dist");
    // The directory is part of the repository, so that cargo looks at it before anything was built.
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-env-changed=UI");
    let mut found = Vec::new();
    // `make build UI=0` leaves out what an earlier build may have left there.
    if env::var("UI").as_deref() != Ok("0") {
        collect(&dist, &mut found)?;
    }
    found.sort();
    let mut code = String::from("pub static EMBEDDED: &[Embedded] = &[\n");
    for path in &found {
        let name = path.strip_prefix(&dist).unwrap_or(path).with_extension("");
        let (name, path) = (name.display().to_string(), path.display().to_string());
        let line = format!("    Embedded {{ name: {name:?}, gzip: include_bytes!({path:?}) }},");
        writeln!(code, "{line}").map_err(io::Error::other)?;
    }
    code.push_str("];\n");
    let version = fs::read_to_string(dist.join("VERSION")).unwrap_or_else(|_| "none".to_string());
    let version = if found.is_empty() {
        "none"
    } else {
        version.trim()
    };
    writeln!(code, "const BUILT: &str = {version:?};").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("embedded.rs"), code)
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "gz") {
            found.push(path);
        }
    }
    Ok(())
}
