//! `skep serve`: wiring of broker, gateways and management.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use prometheus_client::registry::Registry;
use skep_broker::clock::Clock;
use skep_broker::{Broker, BrokerConfig};
use skep_gateway::{Gateway, GatewayConfig, GatewayMetrics};

use crate::management::{self, Management};

#[derive(Args)]
pub struct ServeArgs {
    /// Directory of all data.
    #[arg(long, default_value = "data")]
    data: PathBuf,
    /// Number of partitions; fixed for the life of the data directory.
    #[arg(long, default_value_t = 1)]
    partitions: u32,
    /// Address to listen on.
    #[arg(long, default_value = "0.0.0.0")]
    address: std::net::IpAddr,
    /// Port of the REST API; 0 takes a free one.
    #[arg(long, default_value_t = 8080)]
    rest_port: u16,
    /// Port of the gRPC API; 0 takes a free one.
    #[arg(long, default_value_t = 26500)]
    grpc_port: u16,
    /// Port of health, metrics and management; 0 takes a free one.
    #[arg(long, default_value_t = 9600)]
    management_port: u16,
}

pub fn run(args: ServeArgs) -> anyhow::Result<()> {
    let started = Instant::now();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(args, started))
}

async fn serve(args: ServeArgs, started: Instant) -> anyhow::Result<()> {
    let broker_config = BrokerConfig {
        partitions: args.partitions,
        directory: args.data.clone(),
        ..BrokerConfig::default()
    };
    let gateway_config = GatewayConfig {
        rest_addr: SocketAddr::new(args.address, args.rest_port),
        grpc_addr: SocketAddr::new(args.address, args.grpc_port),
        ..GatewayConfig::default()
    };
    let clock = Arc::new(Clock::default());
    let broker = tokio::task::spawn_blocking(move || Broker::open(broker_config, clock))
        .await?
        .context("the server cannot start")?;
    let mut registry = Registry::default();
    broker.metrics().register(&mut registry);
    let gateway_metrics = Arc::new(GatewayMetrics::new());
    gateway_metrics.register(&mut registry);
    let gateway = Gateway::bind(gateway_config, broker.clone(), gateway_metrics).await?;
    let (rest, grpc) = (gateway.rest_addr(), gateway.grpc_addr());
    let management = Management::new(broker.clone(), registry);
    let management_addr =
        management::listen(SocketAddr::new(args.address, args.management_port), management).await?;

    println!("Skep {} is up after {} ms.", env!("CARGO_PKG_VERSION"), started.elapsed().as_millis());
    println!("  REST        http://localhost:{}/v2", rest.port());
    println!("  gRPC        localhost:{}", grpc.port());
    println!("  management  http://localhost:{}/actuator/health", management_addr.port());
    println!("  data        {}", args.data.display());
    gateway.serve(shutdown_signal()).await;
    tracing::info!("shutting down");
    tokio::task::spawn_blocking(move || broker.stop()).await?;
    Ok(())
}

async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
