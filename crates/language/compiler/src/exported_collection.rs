//! Collection of resources that other nodes export.
//!
//! Invariant: a resource of another node never replaces one of this node.

use std::sync::Arc;

use evaluator::{
    CatalogScopeId, CollectorQuery, EvalResult, Evaluator, ResourceAttribute, SourceLocation, raise,
};

use crate::catalog::{CatalogResource, ResourceId};
use crate::catalog_reads::VolatileCause;
use crate::compilation::Compilation;
use crate::data_queries::{DataQuery, exports_digest};
use crate::exports::{ExportSearch, ExportedResource};

impl Compilation<'_> {
    /// Adds the resources that other nodes export and a collector wants. Returns the new ones.
    pub(crate) fn add_exported_of_others(
        &self,
        evaluator: &mut Evaluator<'_>,
        (type_name, query): (&Arc<str>, Option<&CollectorQuery>),
        scope: CatalogScopeId,
    ) -> EvalResult<Vec<ResourceId>> {
        let Some(exports) = &self.request.exports else {
            return Ok(Vec::new());
        };
        let search = ExportSearch {
            certname: &self.request.certname,
            type_name,
            query,
            interrupt: self.request.interrupt.as_ref(),
        };
        let found = match exports.search(&search) {
            Ok(found) => found,
            Err(error) => {
                // the reason of an interruption is better than what it did to the search
                self.check_interrupt()?;
                return raise(error.to_string());
            }
        };
        evaluator.charge(found.len())?;
        let recorded = DataQuery::of_collector(type_name, query);
        let digest = recorded.as_ref().and_then(|_| exports_digest(&found));
        self.state()
            .record_query(recorded, digest, VolatileCause::Exports);
        let mut new = Vec::new();
        for resource in found {
            if let Some(known) = self.find_resource(type_name, &resource.title)? {
                let origin = self.state().collected_exports.get(&known).cloned();
                if origin.as_deref() == Some(resource.certname.as_str()) {
                    continue;
                }
                return raise(format!(
                    "A duplicate resource was found while collecting exported resources, with the type and title {type_name}[{}]",
                    resource.title
                ));
            }
            new.push(self.add_exported(evaluator, type_name, scope, resource)?);
        }
        Ok(new)
    }

    fn add_exported(
        &self,
        evaluator: &mut Evaluator<'_>,
        type_name: &Arc<str>,
        scope: CatalogScopeId,
        exported: ExportedResource,
    ) -> EvalResult<ResourceId> {
        let Some(kind) = self.find_type(evaluator, type_name)? else {
            return raise(format!("Invalid resource type {type_name}"));
        };
        let source = self.state().scope(scope).source;
        let title: Arc<str> = exported.title.as_str().into();
        let owner = (scope, source);
        let mut resource = CatalogResource::new(Arc::clone(type_name), title, kind, owner);
        let attributes = exported
            .parameters
            .iter()
            .map(|(name, value)| ResourceAttribute {
                name: name.to_string().into(),
                value: value.clone(),
                is_added: false,
                location: SourceLocation::default(),
            });
        self.set_attributes(&mut resource, attributes.collect())?;
        let id = self.add_resource(scope, resource)?;
        self.state().collected_exports.insert(id, exported.certname);
        Ok(id)
    }
}
