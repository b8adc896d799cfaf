//! One connection from the door's view: its peer address, and the caller last authenticated on it. Clients send the same
//! header again and again; as long as everything that it was checked against is unchanged, comparing it is enough.

use std::net::IpAddr;
use std::sync::{Arc, Weak};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use http::HeaderValue;
use parking_lot::Mutex;
use skep_identity::Directory;
use skep_oidc::Verified;
use skep_protocol::origin::Claims;
use zeroize::Zeroizing;

/// See the [module](self).
pub struct Visitor {
    pub peer: IpAddr,
    last: Mutex<Option<Admitted>>,
}

/// A caller who was authenticated by a header.
struct Admitted {
    header: Zeroizing<Vec<u8>>,
    /// The directory against which it was valid. It is not kept alive, so an idle connection holds only its address.
    directory: Weak<Directory>,
    claims: Claims,
    /// Of a token.
    verified: Option<Verified>,
}

impl Visitor {
    pub fn new(peer: IpAddr) -> Visitor {
        Visitor {
            peer,
            last: Mutex::default(),
        }
    }

    /// The caller of this header, if it is the last one on this connection and the directory is the same. `is_still`: whether
    /// a token is still valid.
    pub fn again(
        &self,
        header: &HeaderValue,
        directory: &Arc<Directory>,
        is_still: impl FnOnce(&Verified) -> bool,
    ) -> Option<Claims> {
        let last = self.last.lock();
        let last = last.as_ref()?;
        let is_same = std::ptr::eq(last.directory.as_ptr(), Arc::as_ptr(directory))
            // A proxy sends requests of many callers over one connection: none of them may learn by timing where the headers differ.
            && verify_slices_are_equal(&last.header, header.as_bytes()).is_ok();
        let is_good = is_same && last.verified.as_ref().is_none_or(is_still);
        is_good.then(|| last.claims.clone())
    }

    /// Remembers a header that was checked and valid.
    pub fn admitted(
        &self,
        header: &HeaderValue,
        directory: &Arc<Directory>,
        claims: Claims,
        verified: Option<Verified>,
    ) {
        *self.last.lock() = Some(Admitted {
            header: Zeroizing::new(header.as_bytes().to_vec()),
            directory: Arc::downgrade(directory),
            claims,
            verified,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use skep_protocol::origin::Principal;

    use super::*;

    fn anna() -> Claims {
        Claims::User(Arc::new(Principal {
            id: "anna".into(),
            groups: None,
            token: "".into(),
        }))
    }

    #[test]
    fn the_last_header_is_good_as_long_as_the_directory_is_the_same() {
        let visitor = Visitor::new(Ipv4Addr::LOCALHOST.into());
        let header = HeaderValue::from_static("Basic YW5uYTpi");
        let directory = Arc::new(Directory::default());
        let again = |shown: &'static str, directory: &Arc<Directory>| {
            let shown = HeaderValue::from_static(shown);
            visitor.again(&shown, directory, |_| unreachable!("it is no token"))
        };
        assert_eq!(again("Basic YW5uYTpi", &directory), None);
        visitor.admitted(&header, &directory, anna(), None);
        assert_eq!(again("Basic YW5uYTpi", &directory), Some(anna()));
        for other in ["Basic YW5uYTpj", "Basic YW5uYTp", "Basic YW5uYTpiYg", ""] {
            assert_eq!(again(other, &directory), None, "{other}");
        }
        let changed = Arc::new((*directory).clone());
        assert_eq!(again("Basic YW5uYTpi", &changed), None);
        // Another directory never gets the address of a freed one.
        drop(directory);
        let next: Vec<_> = (0..100).map(|_| Arc::new(Directory::default())).collect();
        for directory in &next {
            assert_eq!(again("Basic YW5uYTpi", directory), None);
        }
    }
}
