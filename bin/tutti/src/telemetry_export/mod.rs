//! Export of traces to a collector, over OTLP. Main type: [`TraceExport`].
//!
//! Invariants: no task waits for a collector (the queue is bounded, and spans that do not fit are
//! lost); an unreachable collector is logged once, and once when it can be reached again; the
//! environment (`OTEL_*`) takes precedence over the file, as everywhere with OpenTelemetry.

mod client;
mod quiet_exporter;
mod sampling;

use std::env;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, Key, KeyValue};
use opentelemetry_otlp::{Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor as _,
};
use optional_feature::{Feature, FeatureStatus};
use telemetry::{AttributeValue, SpanSink, TraceContext, TraceSpan, Tracer};

use self::client::OtlpHttpClient;
use self::quiet_exporter::QuietExporter;
use self::sampling::TraceSampling;
use crate::config::telemetry::TelemetrySection;

/// Maximum wait for unsent spans at the end of the process.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The exporter of traces, if a collector is named.
#[derive(Debug)]
pub(crate) struct TraceExport(Option<Feature<SpanExportPipeline>>);

#[derive(Debug)]
pub(crate) struct SpanExportPipeline {
    processor: BatchSpanProcessor,
    sampling: TraceSampling,
    scope: InstrumentationScope,
}

/// Starts the export, if a collector is named; a failure is retried. Must be called within the
/// runtime.
pub(crate) async fn start(config: &TelemetrySection) -> TraceExport {
    if endpoint(config).is_none() {
        return TraceExport(None);
    }
    let config = config.clone();
    let inability = "this server cannot send traces";
    let export = move || exporter(&config).map_err(|error| format!("{error:#}"));
    TraceExport(Some(
        Feature::start_by_reading("traces-service", inability, export).await,
    ))
}

fn exporter(config: &TelemetrySection) -> Result<SpanExportPipeline> {
    let client = OtlpHttpClient::new().context("cannot make an HTTP client for traces")?;
    let builder = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary);
    let builder = match endpoint(config) {
        Some(OtlpEndpoint::File(url)) => builder.with_endpoint(url),
        Some(OtlpEndpoint::Environment) | None => builder,
    };
    let exporter = builder.build().map_err(|error| {
        tracing::debug!(%error, "the exporter of traces cannot be made");
        anyhow::anyhow!(
            "telemetry.otlp_endpoint, or OTEL_EXPORTER_OTLP_ENDPOINT of the environment, is no address such as \
             http://otel.example:4318; correct it and start the server again"
        )
    })?;
    let mut processor = BatchSpanProcessor::builder(QuietExporter::new(exporter)).build();
    processor.set_resource(&resource());
    tracing::info!("traces are sent to a collector");
    let scope = InstrumentationScope::builder("tutti")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build();
    Ok(SpanExportPipeline {
        processor,
        sampling: TraceSampling::from_environment(),
        scope,
    })
}

enum OtlpEndpoint {
    /// The complete address.
    File(String),
    Environment,
}

fn endpoint(config: &TelemetrySection) -> Option<OtlpEndpoint> {
    let is = |name: &str, value: &str| {
        env::var(name).is_ok_and(|found| found.eq_ignore_ascii_case(value))
    };
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    let names = [
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ];
    let named = |name: &&str| env::var(name).is_ok_and(|value| !value.is_empty());
    if names.iter().any(named) {
        return Some(OtlpEndpoint::Environment);
    }
    let base = config.otlp_endpoint.as_ref()?;
    let url = format!("{}/v1/traces", base.trim_end_matches('/'));
    Some(OtlpEndpoint::File(url))
}

/// The resource of the spans: `service.name` is `tutti` unless the environment sets another.
fn resource() -> Resource {
    let service = Key::from_static_str("service.name");
    let found = Resource::builder().build().get(&service);
    let named = found.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    match named {
        true => builder.build(),
        false => builder.with_service_name("tutti").build(),
    }
}

// === impl TraceExport ===

impl TraceExport {
    pub(crate) fn tracer(&self) -> Tracer {
        match &self.0 {
            Some(exporter) => Tracer::new(Arc::new(ExportSink(exporter.clone()))),
            None => Tracer::default(),
        }
    }

    /// State of the export; `None`: no collector is named.
    pub(crate) fn feature(&self) -> Option<FeatureStatus> {
        self.0.as_ref().map(Feature::status)
    }

    /// Sends unsent spans, for a bounded time.
    pub(crate) async fn shutdown(self) {
        let Some(exporter) = self.0 else { return };
        exporter.shutdown().await;
        // It waits for its own thread.
        let end = move || match exporter.get() {
            Ok(exporter) => exporter.processor.shutdown_with_timeout(SHUTDOWN),
            Err(_) => Ok(()),
        };
        let ending = tokio::task::spawn_blocking(end);
        match tokio::time::timeout(2 * SHUTDOWN, ending).await {
            Ok(Ok(Ok(()))) => {}
            _ => tracing::warn!("the last traces could not be sent in time"),
        }
    }
}

/// The exporter as a sink; spans that arrive before its start are not kept.
#[derive(Debug)]
struct ExportSink(Feature<SpanExportPipeline>);

impl SpanSink for ExportSink {
    fn samples(&self, parent: Option<&TraceContext>, trace: TraceId) -> bool {
        let exporter = self.0.get();
        exporter.is_ok_and(|exporter| exporter.sampling.is_sampled(parent, trace))
    }

    fn take(&self, span: TraceSpan) {
        if let Ok(exporter) = self.0.get() {
            exporter
                .processor
                .on_end(to_span_data(span, &exporter.scope));
        }
    }
}

fn to_span_data(span: TraceSpan, scope: &InstrumentationScope) -> SpanData {
    let parent = span.parent.unwrap_or(SpanId::INVALID);
    let attributes = span.attributes.into_iter().map(|(key, value)| match value {
        AttributeValue::Text(text) => KeyValue::new(key, text),
        AttributeValue::Number(number) => KeyValue::new(key, number),
    });
    SpanData {
        span_context: SpanContext::new(
            span.context.trace,
            span.context.span,
            TraceFlags::SAMPLED,
            false,
            TraceState::NONE,
        ),
        parent_span_id: parent,
        parent_span_is_remote: span.parent_is_remote,
        span_kind: match span.kind {
            telemetry::SpanKind::Server => SpanKind::Server,
            telemetry::SpanKind::Client => SpanKind::Client,
            telemetry::SpanKind::Internal => SpanKind::Internal,
        },
        name: span.name,
        start_time: span.start,
        end_time: span.end,
        attributes: attributes.collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: match span.failed {
            true => Status::error(""),
            false => Status::Unset,
        },
        instrumentation_scope: scope.clone(),
    }
}
