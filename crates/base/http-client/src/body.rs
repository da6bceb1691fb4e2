//! Bodies of answers, read within a limit: [`read_body`].

use reqwest::Response;

/// The error for a body that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The body exceeds the limit, in bytes.
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    /// The connection failed before the end of the body.
    #[error("the answer ended early")]
    Broken(#[source] reqwest::Error),
}

/// Reads the whole body, of at most `limit` bytes. Bytes beyond the limit are never read. The error
/// of a broken connection has no address, because an address may hold a secret.
pub async fn read_body(response: &mut Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let announced = usize::try_from(response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(BodyError::TooLarge(limit));
    }
    let mut body = Vec::with_capacity(announced);
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn broken(error: reqwest::Error) -> BodyError {
    BodyError::Broken(error.without_url())
}

/// The first `limit` bytes of a body as text without control characters, for error messages. An
/// ellipsis ends a text that was cut.
pub fn excerpt(body: &[u8], limit: usize) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(limit)]);
    let mut excerpt: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if body.len() > limit {
        excerpt.push('…');
    }
    excerpt.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_has_no_control_characters() {
        assert_eq!(excerpt(b" a\x1b[1mb\n", 20), "a [1mb");
        assert_eq!(excerpt(b"abcdef", 3), "abc…");
        assert_eq!(excerpt(&[b'a', 0xff], 5), "a\u{fffd}");
    }
}
