//! Collection of facts from agents.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use inventory::{
    CollectorConfig, ConnectedNode, FactCollector, FactRequester, NodeConnectionChange,
};
use pcp::Certname;
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc};

use crate::site::{Site, certname, record};

/// Agents that answer at once, except for `silent`.
#[derive(Default)]
struct Agents {
    asked: Mutex<Vec<String>>,
    news: Notify,
    silent: Option<Certname>,
}

#[async_trait]
impl FactRequester for Agents {
    async fn send_request(
        &self,
        certname: &Certname,
        module: &str,
        action: &str,
        _params: Value,
        _timeout: Duration,
    ) -> Result<Value, String> {
        assert_eq!((module, action), ("facts", "collect"));
        self.asked.lock().unwrap().push(certname.to_string());
        self.news.notify_one();
        match self.silent.as_ref() == Some(certname) {
            true => Err("no answer".to_owned()),
            false => Ok(json!({
                "facts": {"kernel": "Linux", "hostname": certname.as_str()},
                // A node's data about its identity must be ignored.
                "trusted": {"certname": "db", "extensions": {"pp_role": "db"}},
                "environment": "test",
            })),
        }
    }

    fn trusted_facts(&self, certname: &Certname) -> Map<String, Value> {
        Map::from_iter([("certname".to_owned(), json!(certname.as_str()))])
    }
}

impl Agents {
    async fn asked(&self, count: usize) -> Vec<String> {
        loop {
            let asked = self.asked.lock().unwrap().clone();
            if asked.len() >= count {
                return asked;
            }
            self.news.notified().await;
        }
    }
}

fn node(name: &str, tells_facts: bool) -> ConnectedNode {
    ConnectedNode {
        certname: certname(name),
        sends_facts: tells_facts,
    }
}

/// A collector that receives its events from the returned sender.
fn start(site: &Site, agents: &Arc<Agents>) -> (FactCollector, mpsc::Sender<NodeConnectionChange>) {
    let (sender, mut news) = mpsc::channel(8);
    let feed = move |out: mpsc::Sender<NodeConnectionChange>| async move {
        loop {
            let told = tokio::select! {
                told = news.recv() => told,
                () = out.closed() => return,
            };
            let Some(told) = told else { return };
            if out.send(told).await.is_err() {
                return;
            }
        }
    };
    let config = CollectorConfig {
        concurrent_requests: 1,
        ..CollectorConfig::default()
    };
    let asker = Arc::clone(agents) as Arc<dyn FactRequester>;
    let inventory = site.inventory.clone();
    (
        FactCollector::start(config, inventory, Some(asker), feed),
        sender,
    )
}

#[tokio::test(start_paused = true)]
async fn only_agents_that_announced_it_are_asked_and_their_word_is_no_trusted_data() {
    let site = Site::empty().await;
    let agents = Arc::new(Agents::default());
    let (collector, news) = start(&site, &agents);
    let all = vec![node("a", true), node("stock", false), node("b", true)];
    news.send(NodeConnectionChange::All(all)).await.unwrap();
    let mut asked = agents.asked(2).await;
    asked.sort();
    assert_eq!(asked, ["a", "b"]);
    collector.shutdown().await;
    let record = site.inventory.facts(&certname("a")).await.unwrap();
    if let Some(record) = record {
        assert_eq!(record.trusted.get("certname"), Some(&json!("a")));
        assert_eq!(record.trusted.get("extensions"), None);
        assert_eq!(record.environment.as_deref(), Some("test"));
    }
    assert_eq!(site.names("nodes { connected = true }").await, "a b stock");
}

#[tokio::test(start_paused = true)]
async fn a_node_without_an_answer_is_asked_again_and_one_that_went_is_not() {
    let site = Site::empty().await;
    let agents = Arc::new(Agents {
        silent: Some(certname("a")),
        ..Agents::default()
    });
    let (collector, news) = start(&site, &agents);
    news.send(NodeConnectionChange::Connected(node("a", true)))
        .await
        .unwrap();
    assert_eq!(agents.asked(2).await, ["a", "a"]);
    news.send(NodeConnectionChange::Disconnected(certname("a")))
        .await
        .unwrap();
    news.send(NodeConnectionChange::Connected(node("b", true)))
        .await
        .unwrap();
    let asked = agents.asked(3).await;
    assert_eq!(asked[asked.len() - 1], "b");
    collector.shutdown().await;
    assert_eq!(site.names("nodes { connected = true }").await, "b");
}

#[tokio::test(start_paused = true)]
async fn collected_facts_keep_the_extensions_of_the_certificate() {
    let site = Site::empty().await;
    let name = certname("a");
    let trusted = json!({"certname": "a", "extensions": {"pp_role": "web"}});
    let of_catalog = record(json!({"kernel": "old"}), trusted.clone(), None, 1_000);
    site.inventory
        .record_facts(&name, of_catalog)
        .await
        .unwrap();
    let agents = Arc::new(Agents::default());
    let (collector, news) = start(&site, &agents);
    let all = vec![node("a", true)];
    news.send(NodeConnectionChange::All(all)).await.unwrap();
    agents.asked(1).await;
    let known = loop {
        let known = site.inventory.facts(&name).await.unwrap().unwrap();
        if known.facts["kernel"] == "Linux" {
            break known;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(json!(*known.trusted), trusted);
    collector.shutdown().await;
}
