//! Reports the server's state to the service manager that started it: `Type=notify` of systemd, one datagram per state.

/// Reports that the server takes work.
pub fn ready() {
    notify("READY=1");
}

/// Reports that the server is stopping.
pub fn stopping() {
    notify("STOPPING=1");
}

/// Sends a state; does nothing without a service manager.
fn notify(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    if let Err(error) = send(socket.as_encoded_bytes(), state) {
        tracing::warn!(%error, state, "the service manager (NOTIFY_SOCKET) could not be notified");
    }
}

/// An address that begins with `@` is an abstract name, otherwise a path.
#[cfg(target_os = "linux")]
fn send(address: &[u8], state: &str) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let address = match address.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(address))?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn send(_address: &[u8], _state: &str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::send;

    fn received(by: &UnixDatagram) -> String {
        let mut buffer = [0; 64];
        let length = by.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn a_state_reaches_sockets_with_paths_and_with_abstract_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str().as_encoded_bytes(), "READY=1").unwrap();
        assert_eq!(received(&manager), "READY=1");

        let name = format!("skep-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        send(format!("@{name}").as_bytes(), "STOPPING=1").unwrap();
        assert_eq!(received(&manager), "STOPPING=1");
    }

    #[test]
    fn a_service_manager_that_is_gone_is_an_error_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        assert!(send(gone.as_os_str().as_encoded_bytes(), "READY=1").is_err());
    }
}
