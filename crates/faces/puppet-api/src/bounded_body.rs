//! A body that is read while it is used: [`bounded_body`]; one that holds a share while it is sent: [`held_body`].

use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::{Stream, StreamExt as _, stream};

use crate::defaults::FILE_CHUNK_BYTES;

/// The chunks of a body. It ends with an error if it has more than `limit` bytes, or if nothing arrives for
/// `stall`.
pub(crate) fn bounded_body(
    body: BodyDataStream,
    limit: usize,
    stall: Duration,
) -> impl Stream<Item = Result<Bytes, Error>> + Send + Unpin {
    let chunks = stream::unfold(Some((body, 0_usize)), move |state| async move {
        let (mut body, before) = state?;
        let failed = |kind, text: &str| Some((Err(Error::new(kind, text)), None));
        match tokio::time::timeout(stall, body.next()).await {
            Err(_) => failed(ErrorKind::TimedOut, "the client sends nothing more"),
            Ok(None) => None,
            Ok(Some(Err(error))) => Some((Err(Error::other(error)), None)),
            Ok(Some(Ok(chunk))) => match before.saturating_add(chunk.len()) {
                sum if sum > limit => failed(
                    ErrorKind::FileTooLarge,
                    "the body of the client is too large",
                ),
                sum => Some((Ok(chunk), Some((body, sum)))),
            },
        }
    });
    Box::pin(chunks)
}

/// A body in pieces, which holds `guard` until the last one is taken.
pub(crate) fn held_body(bytes: Bytes, guard: impl Send + 'static) -> Body {
    let pieces = stream::unfold((bytes, guard), |(mut rest, guard)| async move {
        if rest.is_empty() {
            return None;
        }
        let piece = rest.split_to(rest.len().min(FILE_CHUNK_BYTES));
        Some((Ok::<_, Infallible>(piece), (rest, guard)))
    });
    Body::from_stream(pieces)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_ends_at_its_limit_or_when_it_stalls() {
        let stall = Duration::from_secs(1);
        let chunks = |chunks: &[&'static str]| {
            let chunks: Vec<_> = chunks.iter().map(|it| Ok::<_, Error>(*it)).collect();
            Body::from_stream(stream::iter(chunks)).into_data_stream()
        };
        let passed: Vec<_> = bounded_body(chunks(&["ab", "c"]), 3, stall).collect().await;
        assert!(passed.iter().all(Result::is_ok) && passed.len() == 2);
        let passed: Vec<_> = bounded_body(chunks(&["ab", "cd", "e"]), 3, stall)
            .collect()
            .await;
        assert!(passed[0].is_ok() && passed[1].is_err() && passed.len() == 2);
        let never = Body::from_stream(stream::pending::<Result<Bytes, Error>>());
        let passed: Vec<_> = bounded_body(never.into_data_stream(), 3, stall)
            .collect()
            .await;
        assert!(passed[0].is_err() && passed.len() == 1);
    }

    #[tokio::test]
    async fn a_share_is_held_until_the_body_is_taken() {
        let guard = std::sync::Arc::new(());
        let text = vec![7; 2 * FILE_CHUNK_BYTES + 1];
        let body = held_body(text.clone().into(), std::sync::Arc::clone(&guard));
        let mut pieces = body.into_data_stream();
        let mut taken = Vec::new();
        while let Some(piece) = pieces.next().await {
            assert_eq!(std::sync::Arc::strong_count(&guard), 2);
            taken.extend_from_slice(&piece.unwrap());
        }
        assert_eq!(taken, text);
        assert_eq!(std::sync::Arc::strong_count(&guard), 1);
    }
}
