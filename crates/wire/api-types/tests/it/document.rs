//! The list of routes is consistent, and the `OpenAPI` document follows from it.

use std::collections::BTreeSet;

use api_types::{kinds, openapi, routes};
use serde_json::Value;

#[test]
fn routes_and_operation_ids_are_unique() {
    let places: BTreeSet<_> = routes::ALL
        .iter()
        .map(|route| (route.path, route.method))
        .collect();
    let names: BTreeSet<_> = routes::ALL.iter().map(|route| route.operation_id).collect();
    assert_eq!(places.len(), routes::ALL.len());
    assert_eq!(names.len(), routes::ALL.len());
}

#[test]
fn kinds_are_unique() {
    let names: BTreeSet<_> = kinds::ALL.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), kinds::ALL.len());
}

#[test]
fn every_route_is_in_the_document() {
    let document: Value = serde_json::from_str(&openapi::document_json()).unwrap();
    for route in routes::ALL {
        let operation = &document["paths"][route.path][route.method.to_string().to_lowercase()];
        assert_eq!(operation["operationId"], route.operation_id, "{route:?}");
        assert!(
            operation["responses"][route.success().to_string()].is_object(),
            "{route:?}"
        );
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    let text = openapi::document_json();
    let document: Value = serde_json::from_str(&text).unwrap();
    let references = text.split("\"#/components/schemas/").skip(1);
    let mut seen = 0;
    for reference in references {
        let name = reference.split('"').next().unwrap();
        assert!(
            document["components"]["schemas"][name].is_object(),
            "{name}"
        );
        seen += 1;
    }
    assert!(seen > routes::ALL.len(), "{seen}");
}

/// `docs/openapi.json` equals the document that the server serves. To regenerate it, run this test
/// with `UPDATE_OPENAPI=1`.
#[test]
fn the_document_that_is_checked_in_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/openapi.json");
    let current = openapi::document_json();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == current,
        "docs/openapi.json is old; UPDATE_OPENAPI=1 writes it anew"
    );
}
