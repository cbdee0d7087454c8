//! SHA-256 of bytes and of files, in the one spelling of the records.

use runproof_records::Digest;
use sha2::{Digest as _, Sha256};
use std::io::Read as _;
use std::path::Path;

/// Digest of bytes at hand.
pub fn of_bytes(bytes: &[u8]) -> Digest {
    Digest::from_bytes(&Sha256::digest(bytes).into())
}

/// Digest and size of a file, read in pieces so that a huge log costs no memory.
///
/// # Errors
/// The file cannot be opened or read.
pub fn of_file(path: &Path) -> std::io::Result<(Digest, u64)> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    // On the stack: most files are small, and a fresh page costs more than reading one.
    let mut buffer = [0_u8; 16 * 1024];
    let mut size = 0;
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok((Digest::from_bytes(&hash.finalize().into()), size));
        }
        hash.update(&buffer[..n]);
        size += n as u64;
    }
}
