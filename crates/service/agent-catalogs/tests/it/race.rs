//! Catalogs while versions are deployed.
//!
//! A puppetserver may name a new code id in a catalog that it compiled from old code, because the program that
//! gives the code id is asked when the compilation is under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::json;

use crate::site::{NodeState, Site, document};

/// Files of a version: the manifest, a class, data of Hiera and a file, each with the version's digit.
fn deploy(site: &Site, digit: char) {
    let class = format!("class m {{ notify {{ \"class {digit} ${{lookup('version')}}\": }} }}");
    let manifest = format!(
        "notify {{ 'site {digit}': }} include m file {{ '/a': source => 'puppet:///modules/m/a' }}"
    );
    site.deploy(
        digit,
        &[
            ("manifests/site.pp", &manifest),
            ("modules/m/manifests/init.pp", &class),
            ("modules/m/files/a", &format!("content {digit}")),
            ("hiera.yaml", "version: 5"),
            ("data/common.yaml", &format!("version: 'data {digit}'")),
        ],
    );
}

/// Ends the deployments, also if the test fails.
struct EndOnDrop(Arc<AtomicBool>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_code_id_is_never_given_to_old_code() {
    const REQUESTS: u64 = 60;
    let site = Arc::new(Site::start().await);
    deploy(&site, '0');
    let (ends, deployments) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let deploying = tokio::task::spawn_blocking({
        let (site, ends, deployments) = (site.clone(), ends.clone(), deployments.clone());
        move || {
            for number in 1_u64.. {
                let digit = char::from_digit(u32::try_from(number % 16).unwrap(), 16).unwrap();
                deploy(&site, digit);
                deployments.fetch_add(1, Ordering::Relaxed);
                if ends.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    });
    let ends = EndOnDrop(ends);
    let mut versions = std::collections::BTreeSet::new();
    for request in 0..REQUESTS {
        let node = NodeState::with_facts(json!({"request": request}));
        let catalog = node.catalog(&site.agents).await.unwrap();
        let code_id = catalog.code_id.clone().unwrap();
        let signature = code_id.rsplit(':').next().unwrap();
        let digit = signature.chars().next().unwrap();
        let document = document(&catalog);
        assert_eq!(document["code_id"], json!(code_id));
        let resources = document["resources"].as_array().unwrap().iter();
        let notices = resources.filter(|it| it["type"] == "Notify");
        let titles: Vec<&str> = notices.filter_map(|it| it["title"].as_str()).collect();
        let own = [
            format!("site {digit}"),
            format!("class {digit} data {digit}"),
        ];
        assert_eq!(titles, own, "request {request}");
        let contents = site.contents_of(&catalog).await;
        assert_eq!(contents, [format!("content {digit}")], "request {request}");
        versions.insert(digit);
    }
    drop(ends);
    deploying.await.unwrap();
    let deployments = deployments.load(Ordering::Relaxed);
    assert!(
        versions.len() > 3,
        "{versions:?} of {deployments} deployments"
    );
}
