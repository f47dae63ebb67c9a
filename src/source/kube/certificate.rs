//! Reads a certificate's end: only so much of X.509 as that takes.

use base64::Engine as _;

/// Returns when the first certificate of `pem` ends, in seconds since 1970; none where it cannot be read.
pub(super) fn not_after(pem: &str) -> Option<i64> {
    let (_, rest) = pem.split_once("-----BEGIN CERTIFICATE-----")?;
    let (body, _) = rest.split_once("-----END CERTIFICATE-----")?;
    let body: String = body.split_whitespace().collect();
    let der = base64::engine::general_purpose::STANDARD.decode(body).ok()?;
    let (SEQUENCE, certificate, _) = element(&der)? else { return None };
    let (SEQUENCE, mut rest, _) = element(certificate)? else { return None };
    // Version (optional), serial number, algorithm, issuer, validity.
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (SEQUENCE, validity, _) = element(rest)? else { return None };
    let (kind, text, _) = element(element(validity)?.2)?;
    time(kind, std::str::from_utf8(text).ok()?)
}

/// Tags of what is read (X.690).
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xA0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the tag and the content of the first element, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let count = usize::from(first & 0x7F);
        let (digits, rest) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
        (digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// Reads `YYMMDDHHMMSSZ`, whose years are 1950 to 2049, or `YYYYMMDDHHMMSSZ` (RFC 5280 4.1.2.5).
fn time(kind: u8, text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z')?;
    let full = match kind {
        UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| full.get(from..to)?.parse::<i8>().ok();
    let year = full.get(..4)?.parse().ok()?;
    let civil = jiff::civil::DateTime::new(
        year,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?,
        0,
    );
    Some(civil.ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an element with this content.
    fn der(tag: u8, content: &[&[u8]]) -> Vec<u8> {
        let content = content.concat();
        let length = u8::try_from(content.len()).unwrap();
        assert!(length < 0x80);
        [vec![tag, length], content].concat()
    }

    fn pem(kind: u8, end: &str) -> String {
        let (integer, name) = (der(2, &[&[1]]), der(SEQUENCE, &[]));
        let validity =
            der(SEQUENCE, &[&der(UTC_TIME, &[b"200101000000Z"]), &der(kind, &[end.as_bytes()])]);
        let version = der(VERSION, &[&integer]);
        let signed = der(SEQUENCE, &[&version, &integer, &name, &name, &validity, &name]);
        let text = base64::engine::general_purpose::STANDARD.encode(der(SEQUENCE, &[&signed]));
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    }

    #[test]
    fn the_end_of_a_certificate_is_read_in_both_forms() {
        assert_eq!(not_after(&pem(UTC_TIME, "260101000000Z")), Some(1_767_225_600));
        assert_eq!(not_after(&pem(UTC_TIME, "990101000000Z")), Some(915_148_800));
        assert_eq!(not_after(&pem(GENERALIZED_TIME, "20500101000000Z")), Some(2_524_608_000));
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        let whole = pem(UTC_TIME, "260101000000Z");
        for end in 0..whole.len() {
            not_after(&whole[..end]);
        }
        for wrong in ["", "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----"] {
            assert_eq!(not_after(wrong), None);
        }
        assert_eq!(not_after(&pem(UTC_TIME, "261301000000Z")), None);
        assert_eq!(not_after(&pem(4, "260101000000Z")), None);
    }
}
