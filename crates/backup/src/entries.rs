//! Entries of a partition's log as the content of an object.
//!
//! ```text
//! entry: index u64 | term u64 | tag u8 | length of the payload u32 | payload                                        (little-endian)
//! ```

use bytes::{Buf, Bytes};
use skep_storage::log::Entry;

const HEADER: usize = 21;

/// Adds an entry to the content of an object.
pub fn encode(entry: &Entry, out: &mut Vec<u8>) {
    out.extend_from_slice(&entry.index.to_le_bytes());
    out.extend_from_slice(&entry.term.to_le_bytes());
    out.push(entry.tag);
    let length = u32::try_from(entry.payload.len()).unwrap_or(u32::MAX);
    debug_assert_eq!(length as usize, entry.payload.len(), "entries are small");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&entry.payload);
}

/// The entries in the content of an object.
///
/// # Errors
/// The content ends within an entry.
pub fn decode(mut content: Bytes) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    while !content.is_empty() {
        if content.len() < HEADER {
            return Err("it ends within an entry".to_string());
        }
        let (index, term, tag) = (content.get_u64_le(), content.get_u64_le(), content.get_u8());
        let length = content.get_u32_le() as usize;
        if content.len() < length {
            return Err(format!("it ends within entry {index}"));
        }
        entries.push(Entry {
            index,
            term,
            tag,
            payload: content.split_to(length),
        });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;
    use skep_storage::log::Entry;

    use super::{decode, encode};

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let entry = (
            any::<u64>(),
            any::<u64>(),
            any::<u8>(),
            proptest::collection::vec(any::<u8>(), 0..64),
        );
        let entry = entry.prop_map(|(index, term, tag, payload)| Entry {
            index,
            term,
            tag,
            payload: payload.into(),
        });
        proptest::collection::vec(entry, 0..8)
    }

    proptest! {
        #[test]
        fn entries_decode_to_the_same_and_a_cut_within_an_entry_is_an_error(entries in entries(), cut in any::<prop::sample::Index>()) {
            let mut content = Vec::new();
            let mut ends = vec![0];
            for entry in &entries {
                encode(entry, &mut content);
                ends.push(content.len());
            }
            let content = Bytes::from(content);
            prop_assert_eq!(&decode(content.clone()).unwrap(), &entries);
            let cut = cut.index(content.len() + 1);
            prop_assert_eq!(decode(content.slice(..cut)).is_ok(), ends.contains(&cut));
        }
    }
}
