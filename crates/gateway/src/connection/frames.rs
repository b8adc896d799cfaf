//! Finds frame headers in a stream of HTTP/2 bytes (RFC 9113, section 4.1), however it is split.

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const HEAD: usize = 9;

/// The bytes that every client sends before its first frame.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    flags: u8,
    pub stream: u32,
}

impl Frame {
    /// A PING that asks for an answer.
    pub fn is_ping(self) -> bool {
        self.kind == PING && self.flags & ACK == 0
    }

    /// Whether more of a head must follow at once.
    fn opens_head(self) -> bool {
        matches!(self.kind, HEADERS | CONTINUATION) && self.flags & END_HEADERS == 0
    }
}

/// Finds the frames of one direction of a connection.
#[derive(Debug, Default)]
pub struct Frames {
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    have: usize,
    /// Bytes of the payload, or of the preface, that are still to come.
    rest: usize,
    in_head: bool,
}

impl Frames {
    /// Those that a server sends.
    pub fn outbound() -> Frames {
        Frames::default()
    }

    /// Those that a client sends, which begin with the preface.
    pub fn inbound() -> Frames {
        Frames {
            rest: PREFACE.len(),
            ..Frames::default()
        }
    }

    /// Scans bytes that were read or written. `found` is called for each frame when its head is complete. Returns whether the
    /// incomplete frame at the end, if there is one, began in these bytes.
    pub fn scan(&mut self, mut bytes: &[u8], mut found: impl FnMut(Frame)) -> bool {
        let mut began = false;
        while !bytes.is_empty() {
            let skipped = self.rest.min(bytes.len());
            self.rest -= skipped;
            bytes = bytes.split_at(skipped).1;
            let wanted = (HEAD - self.have).min(bytes.len());
            if wanted == 0 {
                continue;
            }
            began |= self.have == 0;
            let (part, after) = bytes.split_at(wanted);
            let places = self.head.iter_mut().skip(self.have);
            places.zip(part).for_each(|(place, byte)| *place = *byte);
            self.have += wanted;
            bytes = after;
            if self.have == HEAD {
                self.have = 0;
                let [a, b, c, kind, flags, stream @ ..] = self.head;
                self.rest = u32::from_be_bytes([0, a, b, c]) as usize;
                let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
                let frame = Frame {
                    kind,
                    flags,
                    stream,
                };
                self.in_head = frame.opens_head();
                found(frame);
            }
        }
        began
    }

    /// Bytes until the end of the frame under way, as far as that is known; 0 between frames.
    pub fn until_boundary(&self) -> usize {
        match (self.rest, self.have) {
            (0, 0) => 0,
            (0, have) => HEAD - have,
            (rest, _) => rest,
        }
    }

    /// Whether a frame, or a head that spans several, has begun and is incomplete.
    pub fn is_partial(&self) -> bool {
        self.until_boundary() > 0 || self.in_head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn frames_are_found_whatever_pieces_they_come_in() {
        let mut bytes = PREFACE.to_vec();
        bytes.extend(frame(4, 0, 0, &[0; 18]));
        bytes.extend(frame(HEADERS, END_HEADERS, 1, b"head"));
        bytes.extend(frame(DATA, 0, 1, &[7; 300]));
        bytes.extend(frame(PING, ACK, 0, &[0; 8]));
        bytes.extend(frame(PING, 0, 0, &[0; 8]));
        for size in [1, 2, 3, 8, 9, 10, 23, 24, 25, 1000] {
            let (mut frames, mut found) = (Frames::inbound(), Vec::new());
            for piece in bytes.chunks(size) {
                frames.scan(piece, |frame| {
                    found.push((frame.kind, frame.stream, frame.is_ping()))
                });
            }
            let expected = [
                (4, 0, false),
                (HEADERS, 1, false),
                (DATA, 1, false),
                (PING, 0, false),
                (PING, 0, true),
            ];
            assert_eq!(found, expected, "in pieces of {size}");
            assert!(!frames.is_partial());
        }
    }

    #[test]
    fn a_frame_is_partial_from_its_first_byte_to_its_last() {
        let mut frames = Frames::outbound();
        let bytes = frame(DATA, 0, 1, b"abc");
        assert!(frames.scan(&bytes[..4], |_| {}));
        assert_eq!(frames.until_boundary(), 5);
        assert!(!frames.scan(&bytes[4..10], |_| {}));
        assert_eq!(frames.until_boundary(), 2);
        assert!(!frames.scan(&bytes[10..], |_| {}));
        assert_eq!((frames.until_boundary(), frames.is_partial()), (0, false));
    }

    #[test]
    fn a_head_over_several_frames_is_partial_between_them() {
        let mut frames = Frames::outbound();
        frames.scan(&frame(HEADERS, 0, 1, b"a"), |_| {});
        assert_eq!((frames.until_boundary(), frames.is_partial()), (0, true));
        frames.scan(&frame(CONTINUATION, END_HEADERS, 1, b"b"), |_| {});
        assert!(!frames.is_partial());
    }
}
