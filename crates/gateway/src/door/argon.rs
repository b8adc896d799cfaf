//! Argon2id over memory that a thread keeps while it has work.
//!
//! To take the memory from the system for each password, and to give it back, would change the map of the process's memory each time. Other
//! threads wait for that, and the thread that does it has a low priority.

use argon2::password_hash::PasswordHasher as _;
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Block, Params, Version};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use skep_protocol::Failure;
use skep_protocol::value::PasswordHash;
use zeroize::Zeroize as _;

use super::secret::Secret;

/// Cost of a hash (Argon2id): KiB of memory, passes over it, lanes.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Takes the place of a salt where there is no user.
const NOBODY: &[u8] = b"the salt of nobody";

/// See the [module](self).
#[derive(Default)]
pub struct Argon {
    memory: Vec<Block>,
}

impl Argon {
    /// Whether the hash is that of the password. An empty hash is none's, and takes just as long.
    ///
    /// # Errors
    /// The hash is none of ours, or the system gives no memory.
    pub fn verify(&mut self, password: &Secret, given: &PasswordHash) -> Result<bool, Failure> {
        if given.is_empty() {
            let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
            self.compute(&argon2()?, password, NOBODY, &mut output)?;
            return Ok(false);
        }
        let parsed = argon2::PasswordHash::new(given.reveal()).map_err(failed)?;
        let version = u32::from(Version::V0x13);
        let is_ours = parsed.algorithm == ARGON2ID_IDENT && parsed.version == Some(version);
        let (Some(salt), Some(expected), true) = (&parsed.salt, &parsed.hash, is_ours) else {
            return Err(failed("the stored hash is not one of Argon2id"));
        };
        let params = Params::try_from(&parsed).map_err(failed)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let mut output = vec![0; expected.as_bytes().len()];
        self.compute(&argon2, password, salt, &mut output)?;
        Ok(verify_slices_are_equal(&output, expected.as_bytes()).is_ok())
    }

    fn compute(
        &mut self,
        argon2: &Argon2<'_>,
        password: &Secret,
        salt: &[u8],
        output: &mut [u8],
    ) -> Result<(), Failure> {
        let blocks = argon2.params().block_count();
        if self.memory.len() < blocks {
            let more = blocks.saturating_sub(self.memory.len());
            self.memory.try_reserve_exact(more).map_err(failed)?;
            self.memory.resize(blocks, Block::new());
        }
        let memory = self.memory.as_mut_slice();
        argon2
            .hash_password_into_with_memory(password.reveal().as_bytes(), salt, output, memory)
            .map_err(failed)
    }

    pub fn has_memory(&self) -> bool {
        !self.memory.is_empty()
    }

    /// Gives the memory back, without what it tells about passwords.
    pub fn rest(&mut self) {
        self.memory.zeroize();
        self.memory = Vec::new();
    }
}

/// The hash of a new password, with a salt of its own.
///
/// # Errors
/// The system gives no memory or no random numbers.
pub fn hash(password: &Secret) -> Result<PasswordHash, Failure> {
    let hash = argon2()?
        .hash_password(password.reveal().as_bytes())
        .map_err(failed)?;
    Ok(PasswordHash::new(&hash.to_string()))
}

fn argon2() -> Result<Argon2<'static>, Failure> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(failed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Internal(format!(
        "The hash of a password could not be computed: {error}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_string())
    }

    #[test]
    fn a_password_is_recognized_by_its_hash_and_another_one_is_not() {
        let mut argon = Argon::default();
        let first = hash(&secret("hush")).unwrap();
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(first.reveal().starts_with(parameters), "{}", first.reveal());
        let again = hash(&secret("hush")).unwrap();
        assert_ne!(first.reveal(), again.reveal(), "the salt is another one");
        // With memory that the last password has left, and with new one.
        for _ in 0..2 {
            assert_eq!(argon.verify(&secret("hush"), &first), Ok(true));
            assert_eq!(argon.verify(&secret("Hush"), &first), Ok(false));
            assert_eq!(argon.verify(&secret("hush"), &again), Ok(true));
            argon.rest();
            assert!(!argon.has_memory());
        }
    }

    /// Of hashes as a release has written them, also with other costs than those of today.
    #[test]
    fn the_parameters_of_a_hash_are_in_it() {
        let params = Params::new(64, 3, 2, Some(24)).unwrap();
        let other = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let made = other.hash_password(b"hush").unwrap().to_string();
        assert!(made.contains("m=64,t=3,p=2"), "{made}");
        let mut argon = Argon::default();
        let made = PasswordHash::new(&made);
        assert_eq!(argon.verify(&secret("hush"), &made), Ok(true));
        assert_eq!(argon.verify(&secret("hash"), &made), Ok(false));
        for broken in [
            "$argon2id$v=19$m=64,t=3,p=2",
            "$argon2i$v=19$m=64,t=3,p=2$c29tZXNhbHRzb21l$c29tZWhhc2hzb21laGFzaA",
            "hush",
        ] {
            let answer = argon.verify(&secret("hush"), &PasswordHash::new(broken));
            assert!(
                matches!(answer, Err(Failure::Internal(_))),
                "{broken}: {answer:?}"
            );
        }
    }

    #[test]
    fn nobody_has_the_password_of_no_hash() {
        let mut argon = Argon::default();
        assert_eq!(
            argon.verify(&secret(""), &PasswordHash::default()),
            Ok(false)
        );
        // It was computed all the same.
        assert!(argon.has_memory());
    }
}
