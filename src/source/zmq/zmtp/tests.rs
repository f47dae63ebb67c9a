use proptest::prelude::*;

use super::*;

fn pieces(bytes: &[u8]) -> Result<Vec<Piece>, Violation> {
    let (mut decoder, mut buffer, mut found) = (Decoder::default(), BytesMut::new(), Vec::new());
    for byte in bytes {
        buffer.put_u8(*byte);
        while let Some(piece) = decoder.next(&mut buffer)? {
            found.push(piece);
        }
    }
    Ok(found)
}

fn message(parts: &[&[u8]]) -> BytesMut {
    let mut out = BytesMut::new();
    for (index, part) in parts.iter().enumerate() {
        write(if index + 1 < parts.len() { MORE } else { 0 }, part, &mut out);
    }
    out
}

#[test]
fn messages_come_out_whole_however_they_were_cut() {
    let long = vec![7; 300];
    let bytes = message(&[b"kv-events", &[0; 8], &[], &long]);

    let found = pieces(&bytes).unwrap();

    let parts: [&[u8]; 4] = [b"kv-events", &[0; 8], &[], &long];
    assert_eq!(found, [Piece::Message(parts.map(Bytes::copy_from_slice).into())]);
}

#[test]
fn a_length_that_is_only_declared_takes_no_memory() {
    let mut buffer = BytesMut::from(&[LONG, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff][..]);
    let before = buffer.capacity();

    assert_eq!(Decoder::default().next(&mut buffer), Ok(None));
    assert_eq!(buffer.capacity(), before);
    let huge = [LONG, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(pieces(&huge), Err(Violation::Large));
}

#[test]
fn parts_without_end_and_parts_that_are_too_much_together_end_the_connection() {
    assert_eq!(pieces(&[MORE, 0].repeat(PARTS + 1)), Err(Violation::ManyParts));
    let half = vec![0; LARGEST / 2 + 1];
    let mut buffer = message(&[&half, &half]);
    assert_eq!(Decoder::default().next(&mut buffer), Err(Violation::Large));
}

#[test]
fn a_greeting_says_what_the_other_side_speaks() {
    let mut other = greeting();
    assert_eq!(read_greeting(&other), Ok(1));
    other[11] = 0;
    assert_eq!(read_greeting(&other), Ok(0));
    other[12..17].copy_from_slice(b"CURVE");
    assert_eq!(read_greeting(&other), Err(Violation::Mechanism("CURVE".to_owned())));
    other[10] = 1;
    assert_eq!(read_greeting(&other), Err(Violation::Old(1)));
    let http = std::array::from_fn(|index| b"HTTP/1.1 400 Bad Request"[index % 24]);
    assert_eq!(read_greeting(&http), Err(Violation::NoZmtp));
}

#[test]
fn only_publishers_are_listened_to() {
    let ready = |kind: &[u8]| {
        let mut body = BytesMut::from(&b"\x05READY\x0bSocket-Type"[..]);
        body.put_u32(u32::try_from(kind.len()).unwrap());
        body.put_slice(kind);
        read_command(body.freeze())
    };
    assert_eq!(ready(b"PUB"), Ok(Command::Ready));
    assert_eq!(ready(b"XPUB"), Ok(Command::Ready));
    assert_eq!(ready(b"ROUTER"), Err(Violation::NoPublisher("ROUTER".to_owned())));
    let refused = read_command(Bytes::from_static(b"\x05ERROR\x03no\x1b"));
    assert_eq!(refused, Err(Violation::Refused("no ".to_owned())));
}

#[test]
fn a_heartbeat_is_answered_with_its_context() {
    let mut out = BytesMut::new();
    ping(150, &mut out);
    assert_eq!(out.as_ref(), b"\x04\x07\x04PING\x00\x96");
    let asked = read_command(Bytes::from_static(b"\x04PING\x00\x96abc"));
    assert_eq!(asked, Ok(Command::Ping(Bytes::from_static(b"abc"))));
    let mut out = BytesMut::new();
    pong(b"abc", &mut out);
    assert_eq!(out.as_ref(), b"\x04\x08\x04PONGabc");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(pieces(&bytes));
        drop(read_command(Bytes::from(bytes)));
    }
}
