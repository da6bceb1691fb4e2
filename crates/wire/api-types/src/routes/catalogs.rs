//! Routes of catalogs, `/tutti/v1/catalogs`, and of the impact of code on them.

use crate::route::Method::Post;
use crate::route::Route;
use crate::routes::permissions::COMPILE_CATALOGS;
use crate::{CatalogCompileCommand, CodeImpactCommand, CodeImpactReply, CompiledCatalogReply};

super::group! {
    CATALOG_COMPILE = Route::new(Post, "/tutti/v1/catalogs/compile", "catalog_compile",
        COMPILE_CATALOGS, "Compile the catalog of a node").request::<CatalogCompileCommand>()
        .reply::<CompiledCatalogReply>(200);
    CODE_IMPACT = Route::new(Post, "/tutti/v1/code/impact", "code_impact", COMPILE_CATALOGS,
        "Compile nodes with two versions, and group them by the changes of their catalogs")
        .request::<CodeImpactCommand>().reply::<CodeImpactReply>(200).asks_only();
}
