//! The form of the tags of process instances.

const MAX_TAGS: usize = 10;
const MAX_TAG_LENGTH: usize = 100;

/// At most 10, each once, a letter first, then letters, digits, `_`, `-`, `:`, `.`; 100 characters at most.
///
/// # Errors
/// The text names the fault.
pub fn check<T: AsRef<str>>(tags: &[T]) -> Result<(), String> {
    if tags.len() > MAX_TAGS {
        return Err(format!(
            "The field 'tags' holds {} tags, but at most {MAX_TAGS} are allowed.",
            tags.len()
        ));
    }
    for (i, tag) in tags.iter().enumerate() {
        let tag = tag.as_ref();
        let mut bytes = tag.bytes();
        let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphabetic());
        let continues_well = bytes.all(|b| b.is_ascii_alphanumeric() || b"_-:.".contains(&b));
        if !starts_well || !continues_well || tag.len() > MAX_TAG_LENGTH {
            return Err(format!(
                "The field 'tags' holds '{tag}', which is no tag: a tag starts with a letter, continues with letters, digits, \
                 '_', '-', ':' or '.', and has at most {MAX_TAG_LENGTH} characters."
            ));
        }
        if tags.iter().take(i).any(|before| before.as_ref() == tag) {
            return Err(format!(
                "The field 'tags' holds '{tag}' twice. Name each tag once."
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_a_form() {
        assert!(check(&["a", "Region:eu-1.x_y"]).is_ok());
        for bad in ["", "1a", "a b", "ä"] {
            assert!(check(&[bad]).is_err(), "{bad}");
        }
        assert!(check(&["a", "a"]).is_err());
        assert!(check(&["a"; 11]).is_err());
        assert!(check(&["a".repeat(100)]).is_ok());
        assert!(check(&["a".repeat(101)]).is_err());
    }
}
