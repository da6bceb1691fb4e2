//! Replies of many megabytes, such as catalogs, rows of the inventory and results of plans: [`large_reply`].
//!
//! Invariant: a large reply is written as JSON on a thread that may block, so that no other request waits for
//! it.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::failure::ApiFailure;

/// The response with a reply as JSON. The reply is dropped on the other thread too, which takes time as well.
pub(crate) async fn large_reply<T: Serialize + Send + 'static>(
    reply: T,
) -> Result<Response, ApiFailure> {
    let writing = tokio::task::spawn_blocking(move || serde_json::to_vec(&reply)).await;
    let written = writing.map_err(|error| ApiFailure::internal("write the reply", &error))?;
    let text = written.map_err(|error| ApiFailure::internal("write the reply", &error))?;
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], text).into_response())
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use http_body_util::BodyExt as _;
    use serde::{Serialize, Serializer};

    use super::*;

    /// True if it is serialized on another thread than this one.
    struct OnOtherThread(ThreadId);

    impl Serialize for OnOtherThread {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bool(thread::current().id() != self.0)
        }
    }

    #[tokio::test]
    async fn a_reply_is_written_on_a_thread_that_may_block() {
        let reply = OnOtherThread(thread::current().id());
        let response = large_reply(reply).await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(&body[..], b"true");
    }
}
