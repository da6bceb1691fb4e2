//! Routes under `/pdb/query/v4`: node data from `PuppetDB` or the embedded inventory.

use crate::PuppetDbQuery;
use crate::defaults::QUERY_BODY_BYTES;
use crate::route::Method::{Get, Post};
use crate::route::Route;
use crate::routes::permissions::VIEW_NODE_DATA;

super::group! {
    PDB_QUERY = Route::new(Get, "/pdb/query/v4", "pdb_query", VIEW_NODE_DATA,
        "Ask a query that names what it asks for").text(200, "application/json")
        .query(&["query", "limit", "offset", "order_by"]);
    PDB_QUERY_POST = Route::new(Post, "/pdb/query/v4", "pdb_query_post", VIEW_NODE_DATA,
        "Ask a query that names what it asks for").request::<PuppetDbQuery>()
        .text(200, "application/json").max_body_bytes(QUERY_BODY_BYTES).asks_only();
    PDB_ENTITY = Route::new(Get, "/pdb/query/v4/{entity}", "pdb_entity", VIEW_NODE_DATA,
        "Ask about nodes, facts, inventory or reports").text(200, "application/json")
        .query(&["query", "limit", "offset", "order_by"]);
    PDB_ENTITY_POST = Route::new(Post, "/pdb/query/v4/{entity}", "pdb_entity_post",
        VIEW_NODE_DATA, "Ask about nodes, facts, inventory or reports")
        .request::<PuppetDbQuery>().text(200, "application/json")
        .max_body_bytes(QUERY_BODY_BYTES).asks_only();
}
