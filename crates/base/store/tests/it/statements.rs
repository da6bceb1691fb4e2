//! Every SQL text is valid on both engines.

use crate::engine::{Bench, both};

both!(every_statement_can_be_prepared);

async fn every_statement_can_be_prepared(bench: Bench) {
    let statements = store::every_statement();
    assert!(statements.len() > 40, "the list of statements is not whole");
    for sql in statements {
        bench
            .store
            .prepare(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}\n{error:?}"));
    }
}

/// A list by state or name that is sorted for each page is slow far from its start.
#[tokio::test]
async fn pages_by_state_and_name_are_not_sorted() {
    let bench = Bench::sqlite().await;
    let path = bench.config.url.strip_prefix("sqlite:").unwrap();
    let database = rusqlite::Connection::open(path).unwrap();
    let pages = ["ORDER BY state", "ORDER BY certname", "ORDER BY number"];
    let of = ["FROM runs ", "FROM jobs "];
    let is_page = |sql: &&str| {
        let has = |part: &&str| sql.contains(*part);
        sql.contains("OFFSET") && of.iter().any(has) && pages.iter().any(has)
    };
    let mut found = 0;
    for sql in store::every_statement().into_iter().filter(is_page) {
        let mut plan = database
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let unbound = rusqlite::params_from_iter(std::iter::repeat_n(
            rusqlite::types::Null,
            plan.parameter_count(),
        ));
        let steps = plan.query_map(unbound, |row| row.get::<_, String>(3));
        let steps: Vec<String> = steps.unwrap().map(Result::unwrap).collect();
        assert!(!steps.concat().contains("TEMP B-TREE"), "{sql}\n{steps:#?}");
        found += 1;
    }
    // Runs by name and state, for all states and one state; jobs by number and state.
    assert_eq!(found, 2 * 2 * 2 + 2 * 2);
}
