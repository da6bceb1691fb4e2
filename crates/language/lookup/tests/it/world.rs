//! A host for tests: code and data in memory. Main type: [`World`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{
    CodeBlock, CodeMap, CodeSource, EvalError, EvalResult, EvalUnwind, EvaluationHost,
    EvaluationLimits, Evaluator, HostInterrupt, LogLevel, ParseCache, SourceLocation,
};
use lookup::{
    DataFileCache, DirectoryEntry, FileIdentity, HieraSettings, HostError, Lookup, LookupFiles,
    LookupSettings, context_type,
};
use pcore::{Type, Value};
use zeroize::Zeroizing;

pub(crate) struct World {
    files: BTreeMap<PathBuf, String>,
    code: CodeMap,
    lookup: Lookup,
    pub(crate) logged: RefCell<Vec<String>>,
}

impl World {
    /// An environment at `/env` with these files, including code.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut code = CodeMap::new();
        let mut all = BTreeMap::new();
        for (path, text) in files {
            code.insert(path, text.as_bytes());
            all.insert(Path::new("/env").join(path), (*text).to_owned());
        }
        let settings = HieraSettings {
            has_classifier_data: false,
            global_config: Some(PathBuf::from("/env/global/hiera.yaml")),
            environment_root: Some(PathBuf::from("/env")),
            plan: false,
            strict: true,
        };
        let options = LookupSettings {
            settings,
            environment: "production".to_owned(),
            strict_variables: true,
        };
        Self {
            files: all,
            code,
            lookup: Lookup::new(options, Arc::new(DataFileCache::default())),
            logged: RefCell::default(),
        }
    }

    fn evaluator(&self) -> Evaluator<'_> {
        let evaluator = Evaluator::new(self, EvaluationLimits::default(), ParseCache::new());
        let os = [("family", "Debian")].into_iter().collect();
        let facts = [("os", Value::hash(os))].into_iter().collect();
        evaluator.set_global("facts", Value::hash(facts));
        evaluator
    }

    pub(crate) fn run(&self, program: &str) -> Result<String, EvalError> {
        let value = self.evaluator().evaluate(program, Some("case.pp"));
        match value {
            Ok(value) => Ok(value.to_program_string()),
            Err(unwind) => Err(unwind.into_error().expect("nothing interrupts here")),
        }
    }

    #[track_caller]
    pub(crate) fn value(&self, program: &str) -> String {
        match self.run(program) {
            Ok(value) => value,
            Err(error) => panic!("{program}\n{error}"),
        }
    }

    /// The text of an error, without its position.
    #[track_caller]
    pub(crate) fn error(&self, program: &str) -> String {
        match self.run(program) {
            Ok(value) => panic!("{program}\ngave {value}"),
            Err(error) => {
                let call = "Evaluation Error: Error while evaluating a Function Call, ";
                error.message.trim_start_matches(call).to_owned()
            }
        }
    }

    /// True if an interruption by the host leaves the evaluation as such.
    pub(crate) fn is_interrupted(&self, program: &str) -> bool {
        let value = self.evaluator().evaluate(program, Some("case.pp"));
        matches!(
            value.map_err(|unwind| *unwind),
            Err(EvalUnwind::Interrupted(_))
        )
    }
}

impl EvaluationHost for World {
    fn code(&self) -> &dyn CodeSource {
        &self.code
    }

    fn unknown_function(
        &self,
        _: &mut Evaluator<'_>,
        call: &mut CallArguments<'_>,
    ) -> Option<EvalResult> {
        match call.name {
            "interrupt" => Some(Err(EvalUnwind::Interrupted(HostInterrupt(Box::new(
                "gone",
            )))
            .into())),
            // Simulates another branch of a plan, which runs in the middle of this one.
            "elsewhere" => Some(self.evaluator().evaluate(&call.text(0), None)),
            _ => None,
        }
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
            .method(self, evaluator, (receiver, name), arguments, block)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        context_type(name)
    }

    fn log(&self, _: LogLevel, message: &str, _: &SourceLocation) {
        self.logged.borrow_mut().push(message.to_owned());
    }

    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> EvalResult {
        self.lookup.call(self, evaluator, call)
    }
}

impl LookupFiles for World {
    fn identity(&self, path: &Path) -> Option<FileIdentity> {
        let text = self.files.get(path)?;
        Some(FileIdentity {
            device: 0,
            inode: 0,
            size: text.len() as u64,
            changed_nanoseconds: 0,
        })
    }

    fn read(&self, path: &Path) -> Result<String, HostError> {
        let text = self.files.get(path).cloned();
        text.ok_or_else(|| HostError::text(format!("cannot read {}", path.display())))
    }

    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry> {
        let below = self
            .files
            .keys()
            .filter_map(|it| it.strip_prefix(directory).ok());
        let entry = |path: &Path| {
            let mut parts = path.iter();
            let name = parts.next()?.to_string_lossy().into_owned();
            let is_directory = parts.next().is_some();
            Some(DirectoryEntry { name, is_directory })
        };
        below.filter_map(entry).collect()
    }

    fn module_root(&self, module: &str) -> Option<PathBuf> {
        let root = Path::new("/env/modules").join(module);
        let mut files = self.files.keys();
        files.any(|file| file.starts_with(&root)).then_some(root)
    }

    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError> {
        self.read(path).map(Zeroizing::new)
    }
}
