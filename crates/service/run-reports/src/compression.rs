//! Compressed JSON: [`compress`] and [`uncompress`], as gzip streams.

use std::io::{self, Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Compresses `value` as JSON; `None` if the JSON has more than `limit` bytes.
pub(crate) fn compress(value: &impl serde::Serialize, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let text = serde_json::to_vec(value)?;
    if text.len() > limit {
        return Ok(None);
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&text)?;
    gzip.finish().map(Some)
}

/// Uncompresses at most `limit` bytes.
pub(crate) fn uncompress(gzip: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    let read = GzDecoder::new(gzip).take(most.saturating_add(1));
    io::BufReader::new(read).read_to_end(&mut text)?;
    match text.len() > limit {
        true => Err(io::Error::other(format!("it has more than {limit} bytes"))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_again_within_its_limit() {
        let text = "x".repeat(1_000);
        let packed = compress(&text, 1_002).unwrap().unwrap();
        assert!(packed.len() < 100);
        assert_eq!(uncompress(&packed, 1_002).unwrap().len(), 1_002);
        uncompress(&packed, 1_001).unwrap_err();
        assert_eq!(compress(&text, 1_001).unwrap(), None);
        uncompress(b"no gzip", 10).unwrap_err();
    }
}
