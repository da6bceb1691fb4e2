//! Routes under `/inventory/v1`: connections to nodes without an agent, and the removal of nodes.

use crate::defaults::NODES_BODY_BYTES;
use crate::route::Method::{Get, Post};
use crate::route::Route;
use crate::routes::permissions::{VIEW_NODE_DATA, may};
use crate::{
    ConnectionCreated, ConnectionList, ConnectionsQuery, CreateConnection, DeleteConnection,
    NodePurged, PurgeNode,
};

super::group! {
    CREATE_CONNECTION = Route::new(Post, "/inventory/v1/command/create-connection",
        "create_connection", may("nodes", "add_connections"),
        "Say how nodes without an agent are reached").request::<CreateConnection>()
        .reply::<ConnectionCreated>(201).max_body_bytes(NODES_BODY_BYTES);
    DELETE_CONNECTION = Route::new(Post, "/inventory/v1/command/delete-connection",
        "delete_connection", may("nodes", "delete_connections"),
        "Forget how nodes are reached").request::<DeleteConnection>().nothing(204)
        .max_body_bytes(NODES_BODY_BYTES);
    CONNECTIONS = Route::new(Get, "/inventory/v1/query/connections", "connections",
        VIEW_NODE_DATA, "How nodes without an agent are reached").reply::<ConnectionList>(200)
        .query(&["certname", "sensitive", "extract"]);
    CONNECTIONS_POST = Route::new(Post, "/inventory/v1/query/connections", "connections_post",
        VIEW_NODE_DATA, "How nodes without an agent are reached").request::<ConnectionsQuery>()
        .reply::<ConnectionList>(200).max_body_bytes(NODES_BODY_BYTES).asks_only();
    PURGE_NODE = Route::new(Post, "/inventory/v1/command/purge-node", "purge_node",
        may("nodes", "edit_data"), "Remove a node: its certificate, its data, and its place in PuppetDB")
        .request::<PurgeNode>().reply::<NodePurged>(200);
}
