//! The content of objects: compressed, with a checksum.
//!
//! ```text
//! "SKEPBAK" | version u8 = 1 | length of the content u64 | CRC-32 of the content u32 | the content as an LZ4 block     (little-endian)
//! ```

use bytes::Bytes;

/// Approximate bytes of content per object. Rows and entries are never split, so an object may have more.
pub const PIECE: usize = 8 << 20;

const MAGIC: &[u8; 7] = b"SKEPBAK";
const VERSION: u8 = 1;
const HEADER: usize = 20;
/// Maximum bytes of content: a damaged length must not exhaust the memory.
const MAX_CONTENT: u64 = 1 << 30;

/// Packs content into an object.
pub fn pack(content: &[u8]) -> Bytes {
    debug_assert!(content.len() as u64 <= MAX_CONTENT, "pieces are small");
    let mut out = Vec::with_capacity(HEADER + content.len() / 2);
    out.extend_from_slice(MAGIC);
    out.push(VERSION);
    out.extend_from_slice(&(content.len() as u64).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
    out.extend_from_slice(&lz4_flex::block::compress(content));
    out.into()
}

/// Unpacks the content of an object.
///
/// # Errors
/// The object is damaged or has another format version.
pub fn unpack(object: &[u8]) -> Result<Bytes, String> {
    let Some((header, block)) = object.split_at_checked(HEADER) else {
        return Err("it is too short".to_string());
    };
    let Some((magic, rest)) = header.split_first_chunk::<7>() else {
        return Err("it is too short".to_string());
    };
    if magic != MAGIC {
        return Err("it is not an object of a backup".to_string());
    }
    let (version, rest) = rest.split_first().ok_or("it is too short")?;
    if *version != VERSION {
        return Err(format!(
            "version {version} of its format is not known; use the version of skep that wrote it"
        ));
    }
    let (length, sum) = rest.split_first_chunk::<8>().ok_or("it is too short")?;
    let length = u64::from_le_bytes(*length);
    let sum = u32::from_le_bytes(sum.try_into().map_err(|_| "it is too short")?);
    if length > MAX_CONTENT {
        return Err(format!("it claims to have {length} bytes"));
    }
    let content = lz4_flex::block::decompress(block, length as usize)
        .map_err(|error| format!("it cannot be decompressed: {error}"))?;
    if content.len() as u64 != length || crc32fast::hash(&content) != sum {
        return Err("its checksum does not match".to_string());
    }
    Ok(content.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{pack, unpack};

    proptest! {
        #[test]
        fn packing_and_unpacking_restores_the_content(content in proptest::collection::vec(any::<u8>(), 0..4096)) {
            prop_assert_eq!(unpack(&pack(&content)).unwrap(), content);
        }

        #[test]
        fn damage_is_found(
            content in proptest::collection::vec(any::<u8>(), 1..512),
            at in any::<prop::sample::Index>(),
            bit in 0..8_u8,
        ) {
            let mut object = pack(&content).to_vec();
            let at = at.index(object.len());
            object[at] ^= 1 << bit;
            // Some encodings have unused bits. Packed content still never decodes to other content.
            prop_assert!(unpack(&object).map_or(true, |found| found == content));
            prop_assert!(unpack(&object[..at]).is_err());
        }
    }
}
