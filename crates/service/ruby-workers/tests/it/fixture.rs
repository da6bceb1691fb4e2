//! An environment of a test, and a compiler that answers from tables.

use std::fs;
use std::path::{Path, PathBuf};

use pcore::{Hash, Value};
use ruby_workers::{
    RubyAbort, RubyBlock, RubyBlockShape, RubyCallError, RubyCallbackError, RubyCallbacks,
    RubyEnvironment, RubySession, RubyVariable, RubyWorkerSettings, RubyWorkers,
};
use tempfile::TempDir;

/// Debian's modules.
pub(crate) const DEBIAN_MODULES: &str = "/usr/share/puppet/modules";

/// A temporary environment with a module `site`.
pub(crate) struct Fixture {
    pub(crate) directory: TempDir,
    pub(crate) workers: RubyWorkers,
}

/// Answers of the compiler, and the questions that it got.
#[derive(Default)]
pub(crate) struct TestCompiler {
    pub(crate) variables: Hash,
    pub(crate) log: Vec<(String, String)>,
    pub(crate) printed: String,
    /// Prints messages at once, after the word `pids`.
    pub(crate) prints_log: bool,
    pub(crate) asked: Vec<String>,
    pub(crate) declared: Vec<(String, Value, Hash)>,
}

// === impl Fixture ===

impl Fixture {
    /// `None` without Ruby and Puppet.
    pub(crate) fn new() -> Option<Self> {
        Self::with(|_| {})
    }

    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) fn with(change: impl FnOnce(&mut RubyWorkerSettings)) -> Option<Self> {
        let mut settings = RubyWorkerSettings::default();
        change(&mut settings);
        if !Path::new(&settings.ruby).exists() || !Path::new("/usr/bin/puppet").exists() {
            eprintln!("skipped: needs the packages ruby and puppet");
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        Some(Self {
            directory,
            workers: RubyWorkers::new(settings),
        })
    }

    pub(crate) fn module(&self) -> PathBuf {
        self.directory.path().join("modules/site")
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.module().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Writes a 4.x function without dispatches.
    pub(crate) fn function(&self, name: &str, parameters: &str, body: &str) {
        let text = format!(
            "Puppet::Functions.create_function(:'site::{name}') do\n  def {name}({parameters})\n    \
             {body}\n  end\nend\n"
        );
        self.write(&format!("lib/puppet/functions/site/{name}.rb"), &text);
    }

    /// Writes functions that differ in their bodies, with a number at the end of their names. Files that
    /// are written after the first session are not seen.
    pub(crate) fn functions<'a>(&self, name: &str, bodies: impl IntoIterator<Item = &'a str>) {
        for (index, body) in bodies.into_iter().enumerate() {
            self.function(&format!("{name}{index}"), "", body);
        }
    }

    /// Writes a 3.x function.
    pub(crate) fn legacy_function(&self, name: &str, body: &str) {
        let text = format!(
            "Puppet::Parser::Functions.newfunction(:{name}, type: :rvalue) do |args|\n  {body}\nend\n"
        );
        self.write(&format!("lib/puppet/parser/functions/{name}.rb"), &text);
    }

    pub(crate) fn environment(&self, version: &str) -> RubyEnvironment {
        let directory = self.directory.path().to_owned();
        RubyEnvironment {
            name: "test".to_owned(),
            version: version.to_owned(),
            module_directories: vec![directory.join("modules"), DEBIAN_MODULES.into()],
            directory,
        }
    }

    pub(crate) fn session(&self) -> RubySession {
        self.workers
            .session(&self.environment("1"))
            .expect("a session")
    }

    /// Calls a function of the module in a session of its own.
    pub(crate) fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, RubyCallError> {
        let mut compiler = TestCompiler::default();
        self.session()
            .call_function(name, arguments, None, &mut compiler)
    }
}

// === impl TestCompiler ===

impl TestCompiler {
    pub(crate) fn with_variables(variables: &[(&str, Value)]) -> Self {
        let variables = variables.iter().map(|(name, value)| (*name, value.clone()));
        Self {
            variables: variables.collect(),
            ..Self::default()
        }
    }
}

impl RubyCallbacks for TestCompiler {
    fn variable(&mut self, name: &str) -> Result<RubyVariable, RubyCallbackError> {
        self.asked.push(format!("variable {name}"));
        let name = name.trim_start_matches("::");
        Ok(match self.variables.get_str(name) {
            Some(value) => RubyVariable::Value(value.clone()),
            None => RubyVariable::Unknown,
        })
    }

    fn variables(&mut self, names: Option<&[String]>) -> Result<Hash, RubyCallbackError> {
        self.asked.push(format!("variables {names:?}"));
        let is_visible = |name: &str| !name.contains("::");
        let is_wanted =
            |name: &str| names.is_none_or(|names| names.iter().any(|wanted| wanted == name));
        Ok(self
            .variables
            .iter()
            .filter(|(name, value)| {
                let name = name.as_str().unwrap_or_default();
                is_visible(name) && is_wanted(name) && !value.is_undef()
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect())
    }

    fn has_function(&mut self, name: &str) -> bool {
        self.asked.push(format!("has_function {name}"));
        matches!(
            name,
            "host" | "host_map" | "host_again" | "lookup" | "fail_here"
        )
    }

    fn call_function(
        &mut self,
        session: &RubySession,
        name: &str,
        arguments: &[Value],
        block: Option<&RubyBlock>,
    ) -> Result<Value, RubyCallbackError> {
        self.asked.push(format!("call {name}"));
        match (name, block) {
            ("host" | "lookup", _) => Ok(Value::from(arguments.to_vec())),
            ("host_map", Some(block)) => {
                let elements = arguments.first().and_then(Value::as_array);
                let mut mapped = Vec::new();
                for element in elements.unwrap_or_default() {
                    let element = std::slice::from_ref(element);
                    let result = session.call_block(block.id(), element, self);
                    mapped.push(result.map_err(as_block_error)?);
                }
                Ok(mapped.into())
            }
            ("host_again", _) => {
                let Some(Value::Str(name)) = arguments.first() else {
                    return Err(RubyCallbackError::Raise("no name".to_owned()));
                };
                let result = session.call_function(name, &arguments[1..], None, self);
                result.map_err(as_callback_error)
            }
            _ => Err(RubyCallbackError::Raise(format!(
                "{name} fails in the compiler"
            ))),
        }
    }

    fn call_block(
        &mut self,
        _: &RubySession,
        block: u32,
        arguments: &[Value],
    ) -> Result<Value, RubyCallbackError> {
        match block {
            1 => Ok(format!("<{}>", Value::from(arguments.to_vec())).into()),
            2 => Err(RubyCallbackError::Abort(RubyAbort(Box::new("break")))),
            _ => Err(RubyCallbackError::Raise("no such block".to_owned())),
        }
    }

    fn declare_resource(
        &mut self,
        ty: &str,
        title: &Value,
        parameters: &Hash,
    ) -> Result<(), RubyCallbackError> {
        self.declared
            .push((ty.to_owned(), title.clone(), parameters.clone()));
        Ok(())
    }

    fn tags(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(vec!["red".to_owned(), "blue".to_owned()])
    }

    fn classes(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(vec!["settings".to_owned(), "site".to_owned()])
    }

    fn interpolate(&mut self, value: &Value) -> Result<Value, RubyCallbackError> {
        Ok(format!("interpolated {value}").into())
    }

    fn explain(&mut self, text: &str) {
        self.asked.push(format!("explain {text}"));
    }

    #[expect(clippy::print_stdout, reason = "another process reads it")]
    fn log(&mut self, level: &str, message: &str) {
        if self.prints_log {
            println!("pids {message}");
        }
        self.log.push((level.to_owned(), message.to_owned()));
    }

    fn printed(&mut self, text: &str) {
        self.printed.push_str(text);
    }
}

fn as_callback_error(error: RubyCallError) -> RubyCallbackError {
    match error {
        RubyCallError::Raised { exception, .. } => RubyCallbackError::Raise(exception.message),
        RubyCallError::Aborted { abort, .. } => RubyCallbackError::Abort(abort),
        other => RubyCallbackError::Abort(RubyAbort(Box::new(other))),
    }
}

/// The failure of a function whose block failed, as the compiler reports it.
fn as_block_error(error: RubyCallError) -> RubyCallbackError {
    match error {
        RubyCallError::Aborted { abort, .. } => RubyCallbackError::Abort(abort),
        RubyCallError::Raised { exception, .. } => RubyCallbackError::Raise(exception.message),
        other => RubyCallbackError::Raise(other.to_string()),
    }
}

/// A block with a number of parameters.
pub(crate) fn block(id: u32, parameters: u32) -> Option<RubyBlockShape> {
    Some(RubyBlockShape::exactly(id, parameters))
}

pub(crate) fn strings(texts: &[&str]) -> Value {
    let texts = texts.iter().map(|text| Value::from(*text));
    Value::from(texts.collect::<Vec<_>>())
}
