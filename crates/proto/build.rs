//! Compiles `proto/gateway.proto` without a protoc binary.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/gateway.proto");
    let descriptors = protox::compile(["proto/gateway.proto"], ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(
        out.join("gateway_descriptor.bin"),
        descriptors.encode_to_vec(),
    )?;
    tonic_prost_build::configure()
        .build_client(env::var_os("CARGO_FEATURE_CLIENT").is_some())
        .build_server(env::var_os("CARGO_FEATURE_SERVER").is_some())
        .bytes(".")
        .codec_path("crate::codec::Codec")
        .compile_fds(descriptors)?;
    Ok(())
}
