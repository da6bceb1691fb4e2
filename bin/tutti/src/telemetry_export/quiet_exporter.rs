//! Logs once that traces cannot be sent, and once that they can again: [`QuietExporter`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// An exporter whose failures do not fill the log.
#[derive(Debug)]
pub(super) struct QuietExporter<E> {
    inner: E,
    failing: AtomicBool,
}

// === impl QuietExporter ===

impl<E> QuietExporter<E> {
    pub(super) fn new(inner: E) -> Self {
        Self {
            inner,
            failing: AtomicBool::new(false),
        }
    }

    fn log_transition(&self, sent: &OTelSdkResult) {
        let was_failing = self.failing.swap(sent.is_err(), Ordering::Relaxed);
        match (sent, was_failing) {
            (Err(error), false) => tracing::warn!(
                %error,
                "traces cannot be sent and are lost; said again only when they can be"
            ),
            (Ok(()), true) => tracing::info!("traces can be sent again"),
            _ => {}
        }
    }
}

impl<E: SpanExporter> SpanExporter for QuietExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.inner.export(batch).await;
        self.log_transition(&sent);
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
