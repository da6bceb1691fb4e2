//! Masking: exclusive or with a repeated four-byte key.

/// Masks or unmasks `payload`; both are the same operation.
pub(crate) fn apply(payload: &mut [u8], key: [u8; 4]) {
    let [a, b, c, d] = key;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.into_iter().cycle()) {
        *byte ^= key;
    }
}
