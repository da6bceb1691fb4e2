//! Tests of [`super`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};

use pcp::Certname;

use super::{CatalogDependencies, KeptAgentCatalog, KeptCatalogs, NewestCatalog};
use crate::defaults::CATALOGS_EACH_MAX;
use crate::fingerprint::CatalogFingerprint;
use crate::{CompressedCatalog, StaticContent, StaticContents};

/// A text that takes about as many bytes when it is compressed.
fn random_text(bytes: usize) -> String {
    let mut state = 1_u64;
    let letters = (0..bytes * 4 / 3).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b' ' + u8::try_from(state >> 58).unwrap())
    });
    letters.collect()
}

fn catalog(code_id: &str, bytes: usize, digit: char) -> KeptAgentCatalog {
    let content = StaticContent {
        module: "m".to_owned(),
        path: "f".to_owned(),
    };
    let sha256 = String::from(digit).repeat(64).parse().unwrap();
    let fingerprint = CatalogFingerprint::empty();
    KeptAgentCatalog {
        sequence: 1,
        environment: "production".parse().unwrap(),
        code_id: code_id.to_owned(),
        newest: Some(Arc::new(NewestCatalog {
            body: CompressedCatalog::new(&random_text(bytes)),
            uuid: None,
            dependencies: CatalogDependencies {
                fingerprint,
                outside_files: Some(Arc::new(BTreeMap::new())),
                hiera_keys: Arc::default(),
                queries: Arc::default(),
                volatile: None,
            },
            exported: None,
        })),
        contents: Arc::new(StaticContents::from([(sha256, content)])),
        given: AtomicBool::new(true),
        awaits_forwarding: AtomicBool::new(false),
        used_ms: AtomicI64::new(5),
    }
}

fn code_ids(kept: &KeptCatalogs, node: &Certname) -> Vec<String> {
    let catalogs = kept.of_node(node).unwrap_or_default();
    catalogs.iter().map(|it| it.code_id.clone()).collect()
}

#[test]
fn a_node_has_its_last_catalogs_and_reads_the_contents_of_these_alone() {
    let kept = KeptCatalogs::default();
    let (node, other): (Certname, _) = ("a".parse().unwrap(), "b".parse().unwrap());
    for number in 0..=CATALOGS_EACH_MAX {
        let digit = char::from_digit(u32::try_from(number).unwrap(), 16).unwrap();
        kept.keep(&node, catalog(&number.to_string(), 10, digit), 0);
    }
    assert_eq!(code_ids(&kept, &node), ["3", "2", "1"]);
    let catalogs = kept.of_node(&node).unwrap();
    let has_body: Vec<bool> = catalogs.iter().map(|it| it.newest.is_some()).collect();
    assert_eq!(has_body, [true, false, false]);
    let has = |digit: char| {
        let sha256 = String::from(digit).repeat(64).parse().unwrap();
        catalogs.iter().any(|it| it.content(&sha256).is_some())
    };
    assert!(!has('0'), "given up");
    assert!(has('1'));
    assert!(kept.of_node(&other).is_none(), "it may be in the database");
    assert_eq!(kept.code_ids().len(), CATALOGS_EACH_MAX);
}

#[test]
fn a_catalog_that_the_agent_did_not_get_takes_no_other_ones_place() {
    let kept = KeptCatalogs::default();
    let node: Certname = "a".parse().unwrap();
    let ahead = |code_id: &str| KeptAgentCatalog {
        given: AtomicBool::new(false),
        ..catalog(code_id, 10, '1')
    };
    for number in ["1", "2", "3"] {
        kept.keep(&node, catalog(number, 10, '1'), 0);
    }
    kept.keep(&node, ahead("4"), 0);
    kept.keep(&node, ahead("5"), 0);
    assert_eq!(code_ids(&kept, &node), ["5", "3", "2", "1"]);
    kept.keep(&node, catalog("6", 10, '1'), 0);
    assert_eq!(code_ids(&kept, &node), ["6", "3", "2"]);
}

#[test]
fn the_bytes_of_all_catalogs_are_bounded() {
    let kept = KeptCatalogs::new(2_500_000);
    let names: [Certname; 3] = ["a", "b", "c"].map(|name| name.parse().unwrap());
    kept.keep(&names[0], catalog("1", 1_000_000, '1'), 0);
    kept.keep(&names[1], catalog("2", 1_000_000, '2'), 0);
    assert!(kept.of_node(&names[0]).is_some());
    kept.keep(&names[2], catalog("3", 1_000_000, '3'), 0);
    assert!(kept.of_node(&names[1]).is_none(), "it asked longest ago");
    assert!(kept.of_node(&names[0]).is_some());
    let both = kept.lock().all_bytes();
    assert!((1_900_000..2_100_000).contains(&both), "{both}");
    // only the newest catalog of a node has a body
    kept.keep(&names[0], catalog("4", 1_000, '4'), 0);
    let bytes = kept.lock().all_bytes();
    assert!((900_000..1_100_000).contains(&bytes), "{bytes}");
    kept.forget(&names[0], 0);
    kept.forget(&names[2], 0);
    assert!(
        kept.lock().all_bytes() < 10_000,
        "{}",
        kept.lock().all_bytes()
    );
}

#[test]
fn nothing_is_given_up_before_it_is_written() {
    let kept = KeptCatalogs::new(1_500_000);
    let names: [Certname; 3] = ["a", "b", "c"].map(|name| name.parse().unwrap());
    kept.keep(&names[0], catalog("1", 1_000_000, '1'), 1);
    kept.keep(&names[1], catalog("2", 1_000_000, '2'), 1);
    assert!(kept.of_node(&names[0]).is_some());
    kept.remove_unwritten(&names[0]);
    kept.keep(&names[2], catalog("3", 1_000, '3'), 0);
    assert!(kept.of_node(&names[0]).is_none());
    assert!(kept.of_node(&names[1]).is_some());
    // a forgotten node is known to have none, until that is written
    kept.forget(&names[0], 1);
    kept.drop_unused(6);
    assert!(code_ids(&kept, &names[0]).is_empty());
    assert!(kept.of_node(&names[0]).is_some());
    assert!(kept.of_node(&names[2]).is_none(), "unused for long");
    assert!(kept.of_node(&names[1]).is_some(), "not written yet");
}

#[test]
fn a_catalog_compiled_in_advance_never_replaces_one_that_the_agent_got_meanwhile() {
    let kept = KeptCatalogs::default();
    let node: Certname = "a".parse().unwrap();
    let ahead = |sequence, digit: char| KeptAgentCatalog {
        sequence,
        given: AtomicBool::new(false),
        used_ms: AtomicI64::new(99),
        ..catalog(&format!("ahead-{sequence}"), 10, digit)
    };
    assert!(kept.keep_ahead(&node, ahead(1, '1'), (0, 0)).is_none());
    kept.keep(&node, catalog("given", 10, '2'), 0);
    assert!(kept.keep_ahead(&node, ahead(2, '3'), (0, 0)).is_none());
    assert_eq!(code_ids(&kept, &node), ["given"]);
    let added = kept.keep_ahead(&node, ahead(2, '3'), (1, 0)).unwrap();
    let used_ms = added.used_ms.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(used_ms, 5, "a node that is away is forgotten in its time");
    assert_eq!(code_ids(&kept, &node), ["ahead-2", "given"]);
    kept.keep_ahead(&node, ahead(3, '4'), (2, 0)).unwrap();
    assert_eq!(code_ids(&kept, &node), ["ahead-3", "given"]);
}
