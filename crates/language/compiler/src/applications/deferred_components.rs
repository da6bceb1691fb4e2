//! Components that the catalog of one run leaves out, since the node runs again when their producers have run.
//!
//! Invariant: only components that the request names are left out, and no class that is in the catalog for another reason.

use evaluator::LogLevel;
use pcore::FastHashSet;

use super::links::ComponentCapabilities;
use crate::catalog::ResourceId;
use crate::catalog_reads::VolatileCause;
use crate::compilation::Compilation;
use crate::reference::CatalogReference;

/// A component with the capabilities that it names.
type NamedComponent<'c> = (ResourceId, &'c ComponentCapabilities);

impl Compilation<'_> {
    /// Takes the deferred components out of the catalog. Producers come before their consumers, in `components` and in the
    /// result.
    pub(super) fn leave_out_deferred<'c>(
        &self,
        mut components: Vec<NamedComponent<'c>>,
    ) -> Vec<NamedComponent<'c>> {
        let deferred = &self.request.deferred_components;
        if deferred.left_out.is_empty() {
            return components;
        }
        let mut unproduced: FastHashSet<&CatalogReference> = FastHashSet::default();
        components.retain(|(id, named)| {
            let label = self.label(*id);
            let mut needs = named.needs();
            let is_deferred = deferred.left_out.contains(&label)
                || deferred.followers.contains(&label) && needs.any(|it| unproduced.contains(it));
            // a class may be in the catalog for another reason
            let is_evaluated = self.state().catalog.resource(*id).is_evaluated;
            if !is_deferred || is_evaluated {
                return true;
            }
            unproduced.extend(&named.exports);
            self.leave_out(*id, label);
            false
        });
        components
    }

    fn leave_out(&self, id: ResourceId, label: String) {
        let text = format!("{label} is left out: what it needs has not been produced yet");
        self.add_log(LogLevel::Warning, &text, &self.resource_location(id));
        let mut state = self.state();
        let resource = state.catalog.resource_mut(id);
        resource.is_pruned = true;
        let reference = resource.reference();
        state.applications.left_out.insert(reference);
        state.applications.deferred.push(label);
        state.add_volatile(VolatileCause::Capabilities);
    }
}
