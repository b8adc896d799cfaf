//! The gRPC gateway protocol (`gateway_protocol.Gateway`), generated from `proto/gateway.proto`.
//!
//! Features: `client` and `server` (both on by default) choose which stubs are generated.
//! Field names follow Rust style (`process_instance_key` for `processInstanceKey`).
//! `bytes` fields are [`bytes::Bytes`], so that resources are never copied.

pub mod codec;

/// Messages, enums and stubs of the package `gateway_protocol`.
pub mod gateway_protocol {
    #![allow(missing_docs, clippy::all, clippy::pedantic)]
    tonic::include_proto!("gateway_protocol");
}

/// The encoded `google.protobuf.FileDescriptorSet` of the protocol, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/gateway_descriptor.bin"));
