//! How large a value is.

/// The bytes of a value as JSON, counted little further than `enough`.
pub(super) fn json_bytes(value: &impl serde::Serialize, enough: u64) -> u64 {
    let mut counted = Counted { bytes: 0, enough };
    // What cannot be written further has been counted as far as it goes.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.bytes
}

struct Counted {
    bytes: u64,
    enough: u64,
}

impl std::io::Write for Counted {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.bytes = self.bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        if self.bytes > self.enough { Err(std::io::ErrorKind::Other.into()) } else { Ok(piece.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
