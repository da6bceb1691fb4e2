//! Nodes that ever had an agent.

use crate::engine::{Bench, both};

both!(agents_are_kept_once_and_read_in_pages);

async fn agents_are_kept_once_and_read_in_pages(mut bench: Bench) {
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let seen = bench.store.record_agents(names(&["b", "c"]));
    seen.await.unwrap();
    bench.store.record_agents(names(&["a", "b"])).await.unwrap();
    bench.reopen().await;
    let page = async |after, limit| bench.store.agents(after, limit).await.unwrap();
    assert_eq!(page("", 2).await, names(&["a", "b"]));
    assert_eq!(page("b", 2).await, names(&["c"]));
    assert_eq!(page("c", 2).await, names(&[]));
}
