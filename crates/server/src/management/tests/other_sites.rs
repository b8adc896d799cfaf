//! Requests that pages of other sites send to the management port.

use super::*;

/// The status of a request of a page with this origin.
async fn from(origin: &str, to: SocketAddr, path: &str) -> u16 {
    let stream = tokio::net::TcpStream::connect(to).await.unwrap();
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.unwrap();
    tokio::spawn(connection);
    let request = Request::builder()
        .method("POST")
        .uri(path)
        .header("host", "localhost")
        .header("origin", origin)
        .body(Full::<Bytes>::default());
    let answer = sender.send_request(request.unwrap()).await.unwrap();
    answer.status().as_u16()
}

/// The port has no login by default, and every page that a browser on this machine opens can send requests to it.
#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let server = Server::started().await;
    let address = server.address;
    for path in ["cluster/purge", "partitions/pauseProcessing"] {
        let path = format!("/actuator/{path}");
        assert_eq!(from("https://evil.example", address, &path).await, 403);
    }
    let resume = "/actuator/partitions/resumeProcessing";
    assert_eq!(from("http://localhost", address, resume).await, 200);
}
