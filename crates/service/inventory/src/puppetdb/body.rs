//! Reading answers with a bound: [`read`].

use reqwest::Response;

/// Why a body was not read to its end.
#[derive(Debug)]
pub(super) enum BodyError {
    TooLarge,
    Broken(reqwest::Error),
}

/// The whole body, of at most `limit` bytes; what comes after the limit is never read.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let announced = response.content_length().unwrap_or(0);
    if announced > limit as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The begin of a body, as text without control characters: for errors.
pub(super) fn shown(body: &[u8], limit: usize) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(limit)]);
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if body.len() > limit {
        shown.push('…');
    }
    shown.trim().to_owned()
}
