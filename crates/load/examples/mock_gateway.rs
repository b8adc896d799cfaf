//! A gateway without an engine, to measure the load generator alone: start it, then `--example load -- --rest-address … --grpc-address …`
//! with the printed addresses.

#[path = "../tests/load/mock/mod.rs"]
mod mock;

#[tokio::main]
async fn main() {
    let engine = mock::Engine::new(1);
    let (rest, grpc) = mock::serve(&engine).await;
    println!(
        "--rest-address {rest} --grpc-address {grpc} --pid {}",
        std::process::id()
    );
    std::future::pending::<()>().await;
}
