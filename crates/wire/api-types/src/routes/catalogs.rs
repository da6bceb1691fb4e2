//! Routes of catalogs, `/tutti/v1/catalogs`, and of the impact of code on them.

use crate::route::Method::{Get, Post};
use crate::route::Route;
use crate::routes::permissions::{COMPILE_CATALOGS, VIEW_NODE_DATA};
use crate::{
    CatalogCompileCommand, CatalogHistory, CodeImpactCommand, CodeImpactReply,
    CompiledCatalogReply, NodeCatalogDocument,
};

super::group! {
    CATALOG_COMPILE = Route::new(Post, "/tutti/v1/catalogs/compile", "catalog_compile",
        COMPILE_CATALOGS, "Compile the catalog of a node").request::<CatalogCompileCommand>()
        .reply::<CompiledCatalogReply>(200);
    NODE_CATALOG = Route::new(Get, "/tutti/v1/catalogs/{node}", "node_catalog", VIEW_NODE_DATA,
        "Show the newest catalog that was compiled for a node, without its content")
        .reply::<NodeCatalogDocument>(200);
    NODE_CATALOG_HISTORY = Route::new(Get, "/tutti/v1/catalogs/{node}/history", "node_catalog_history",
        VIEW_NODE_DATA, "List the last compilations of a node, with their reasons")
        .reply::<CatalogHistory>(200);
    CODE_IMPACT = Route::new(Post, "/tutti/v1/code/impact", "code_impact", COMPILE_CATALOGS,
        "Compile nodes with two versions, and group them by the changes of their catalogs")
        .request::<CodeImpactCommand>().reply::<CodeImpactReply>(200).asks_only();
}
