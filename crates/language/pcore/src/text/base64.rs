//! Base64 in the variants of Ruby's `pack('m')`: strict, with line breaks, for URLs, and decoding
//! that skips invalid characters.

pub(crate) const STANDARD: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(crate) const FOR_URLS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes per line of [`encode_lines`].
const BYTES_PER_LINE: usize = 45;

/// Encodes with padding, on one line.
pub(crate) fn encode(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place > chunk.len() {
                text.push('=');
            } else {
                let index = (group >> (18 - 6 * place)) & 63;
                text.push(char::from(alphabet[index as usize]));
            }
        }
    }
    text
}

/// Encodes with a newline after each 60 characters.
pub(crate) fn encode_lines(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.chunks(BYTES_PER_LINE) {
        text.push_str(&encode(line, STANDARD));
        text.push('\n');
    }
    text
}

/// Decodes text with correct padding and without other characters; otherwise `None`.
pub(crate) fn decode_strict(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    if text.len() - body.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(body.len() * 3 / 4);
    for chunk in body.as_bytes().chunks(4) {
        let mut group = 0;
        for byte in chunk {
            group = group << 6 | value(*byte)?;
        }
        let left_over = match chunk.len() {
            4 => 0,
            3 => group & 0b11,
            2 => group & 0b1111,
            _ => return None,
        };
        if left_over != 0 {
            return None;
        }
        push_group(&mut bytes, group << (6 * (4 - chunk.len())), chunk.len());
    }
    Some(bytes)
}

/// Decodes the alphabet for URLs; padding may be missing.
pub(crate) fn decode_for_urls(text: &str) -> Option<Vec<u8>> {
    let mut standard = text.replace('-', "+").replace('_', "/");
    if !standard.ends_with('=') {
        while !standard.len().is_multiple_of(4) {
            standard.push('=');
        }
    }
    decode_strict(&standard)
}

/// Decodes the valid characters and skips the others.
pub(crate) fn decode_lenient(text: &str) -> Vec<u8> {
    let sextets: Vec<u32> = text
        .bytes()
        .take_while(|byte| *byte != b'=')
        .filter_map(value)
        .collect();
    let mut bytes = Vec::with_capacity(sextets.len() * 3 / 4);
    for chunk in sextets.chunks(4) {
        let group = chunk.iter().fold(0, |group, sextet| group << 6 | sextet);
        push_group(&mut bytes, group << (6 * (4 - chunk.len())), chunk.len());
    }
    bytes
}

fn push_group(bytes: &mut Vec<u8>, group: u32, sextets: usize) {
    let all = group.to_be_bytes();
    bytes.extend_from_slice(&all[1..sextets.max(1)]);
}

fn value(byte: u8) -> Option<u32> {
    let place = STANDARD.iter().position(|known| *known == byte)?;
    u32::try_from(place).ok()
}
