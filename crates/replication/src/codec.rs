//! LEB128 numbers, and a cursor that never panics.

use bytes::{Buf, Bytes};

use crate::error::MessageError;

pub(crate) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads from the front of shared bytes; slices share memory with them.
pub(crate) struct Cursor(pub(crate) Bytes);

impl Cursor {
    pub(crate) fn byte(&mut self) -> Result<u8, MessageError> {
        self.0.try_get_u8().map_err(|_| MessageError::Truncated)
    }

    pub(crate) fn number(&mut self) -> Result<u64, MessageError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(MessageError::Range);
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(MessageError::Range)
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, MessageError> {
        let length = usize::try_from(self.number()?).map_err(|_| MessageError::Range)?;
        if length > self.0.remaining() {
            return Err(MessageError::Truncated);
        }
        Ok(self.0.split_to(length))
    }
}
