//! The host of an evaluation on this machine: [`LocalHost`].

use std::rc::Rc;
use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{
    CodeBlock, CodeSource, EvalResult, EvaluationHost, Evaluator, LogLevel, SourceLocation,
    VariableScope,
};
use lookup::{DataFileCache, HieraSettings, Lookup, LookupRequest, LookupTrail, context_type};
use pcore::{Type, Value};

use catalogs::{EnvironmentFiles, EnvironmentOnDisk};
use cli::terminal;
use ruby_workers::HiddenPaths;

/// Files of an environment, and the lookups in it.
pub(crate) struct LocalHost {
    site: EnvironmentFiles,
    lookup: Lookup,
}

impl LocalHost {
    pub(crate) fn new(environment: EnvironmentOnDisk, cache: Arc<DataFileCache>) -> Self {
        let settings = HieraSettings {
            has_classifier_data: false,
            global_config: Some(environment.hiera_config.clone()),
            environment_root: Some(environment.root.clone()),
            plan: false,
            strict: true,
        };
        let options = lookup::LookupSettings {
            settings,
            environment: environment.name.clone(),
            strict_variables: true,
        };
        Self {
            site: EnvironmentFiles::new(environment, HiddenPaths::default()),
            lookup: Lookup::new(options, cache),
        }
    }

    pub(crate) fn environment(&self) -> &str {
        self.site.environment()
    }

    pub(crate) fn find(
        &self,
        evaluator: &mut Evaluator<'_>,
        scope: &VariableScope,
        request: &LookupRequest<'_>,
        trail: &Rc<LookupTrail>,
    ) -> EvalResult<Option<Value>> {
        self.lookup
            .find(&self.site, evaluator, scope, (request, trail))
    }
}

impl EvaluationHost for LocalHost {
    fn code(&self) -> &dyn CodeSource {
        &self.site
    }

    fn method(
        &self,
        evaluator: &mut Evaluator<'_>,
        receiver: &Value,
        name: &str,
        arguments: &[Value],
        block: Option<&CodeBlock>,
    ) -> Option<EvalResult> {
        self.lookup
            .method(&self.site, evaluator, (receiver, name), arguments, block)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        context_type(name)
    }

    fn log(&self, level: LogLevel, message: &str, _place: &SourceLocation) {
        let name = match level {
            LogLevel::Debug | LogLevel::Info => return,
            LogLevel::Notice => terminal::style_success("notice:"),
            LogLevel::Warning => terminal::style_warning("warning:"),
            _ => terminal::style_failure("error:"),
        };
        anstream::eprintln!("{name} {}", terminal::escape_control(message));
    }

    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> EvalResult {
        self.lookup.call(&self.site, evaluator, call)
    }
}
