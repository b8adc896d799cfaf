//! Expiry of certificates: the only field of X.509 that nothing else here reads.

use std::path::Path;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use skep_tls::KeyStore;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Expiry of the first certificate of a file, in seconds since 1970; `None` if the file cannot be read.
pub fn of_file(file: &Path) -> Option<i64> {
    let certificates = skep_tls::certificates(file).ok()?;
    not_after(certificates.first()?)
}

/// The same for the certificate in a key store, which takes a while to open.
pub fn of_store(store: &KeyStore) -> Option<i64> {
    let pair = store.read(&skep_tls::provider()).ok()?;
    not_after(pair.chain.first()?)
}

/// The same for a certificate in DER.
pub fn not_after(certificate: &[u8]) -> Option<i64> {
    let (certificate, _) = expect(certificate, SEQUENCE)?;
    let (mut fields, _) = expect(certificate, SEQUENCE)?;
    if let Some((_, rest)) = expect(fields, VERSION) {
        fields = rest;
    }
    // Serial number, algorithm, issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        fields = expect(fields, tag)?.1;
    }
    let (validity, _) = expect(fields, SEQUENCE)?;
    let (_, _, end) = value(validity)?;
    let (tag, text, _) = value(end)?;
    seconds(tag, std::str::from_utf8(text).ok()?)
}

/// Expects a value with this tag; returns its content and the rest.
fn expect(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = value(bytes)?;
    (found == tag).then_some((content, rest))
}

/// Splits off a value: tag, content and the rest.
fn value(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, bytes) = bytes.split_first()?;
    let (first, bytes) = bytes.split_first()?;
    let (length, bytes) = match first {
        0..=0x7f => (usize::from(*first), bytes),
        0x81..=0x84 => {
            let (digits, rest) = bytes.split_at_checked(usize::from(first & 0x7f))?;
            let length = digits
                .iter()
                .fold(0_usize, |length, digit| (length << 8) | usize::from(*digit));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// Parses `YYMMDDhhmmssZ`, whose years begin with 1950, or `YYYYMMDDhhmmssZ`.
fn seconds(tag: u8, text: &str) -> Option<i64> {
    let full = match tag {
        UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_string(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", &full).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(year: i32) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(vec!["skep".to_string()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 11, 24);
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_end_of_a_certificate_is_read_in_both_forms_of_time() {
        assert_eq!(not_after(&certificate(2026)), Some(1_795_478_400));
        // From 2050 on years have four digits.
        assert_eq!(not_after(&certificate(2060)), Some(2_868_480_000));
    }

    #[test]
    fn malformed_certificates_have_no_expiry_date() {
        let whole = certificate(2026);
        for length in 0..whole.len().min(200) {
            assert_eq!(not_after(&whole[..length]), None, "{length}");
        }
        assert_eq!(
            not_after(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff, 1]),
            None
        );
        assert_eq!(not_after(&[SEQUENCE, 0x80]), None);
        assert_eq!(seconds(UTC_TIME, "é61124000000Z"), None);
        assert_eq!(seconds(UTC_TIME, "991324000000Z"), None);
        assert_eq!(of_file(Path::new("/nowhere")), None);
        assert_eq!(of_store(&KeyStore::default()), None);
    }
}
