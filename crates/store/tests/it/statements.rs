//! Every SQL text is one that both engines understand.

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
