//! Measures Ruby workers with Debian's modules: `cargo run --release -p ruby-workers --example call_cost`.
//!
//! Prints the time of a new session and of warm calls: a 3.x function, a 4.x function, and an ERB
//! template that asks for variables.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pcore::{Hash, Value};
use ruby_workers::{
    RubyBlock, RubyCallbackError, RubyCallbacks, RubyEnvironment, RubySession, RubyTemplate,
    RubyVariable, RubyWorkerSettings, RubyWorkers,
};

/// Calls per figure.
const CALLS: usize = 5000;

/// Sessions that are started one after the other.
const SESSIONS: usize = 100;

/// A compiler without functions, with one value for every variable.
struct Nothing;

impl RubyCallbacks for Nothing {
    fn variable(&mut self, _: &str) -> Result<RubyVariable, RubyCallbackError> {
        Ok(RubyVariable::Value("value".into()))
    }

    fn variables(&mut self, names: Option<&[String]>) -> Result<Hash, RubyCallbackError> {
        let names = names.unwrap_or_default().iter();
        Ok(names.map(|name| (name.as_str(), "value")).collect())
    }

    fn has_function(&mut self, _: &str) -> bool {
        false
    }

    fn call_function(
        &mut self,
        _: &RubySession,
        name: &str,
        _: &[Value],
        _: Option<&RubyBlock>,
    ) -> Result<Value, RubyCallbackError> {
        Err(RubyCallbackError::Raise(format!("no function {name}")))
    }

    fn call_block(
        &mut self,
        _: &RubySession,
        _: u32,
        _: &[Value],
    ) -> Result<Value, RubyCallbackError> {
        Ok(Value::Undef)
    }

    fn tags(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(Vec::new())
    }

    fn classes(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(Vec::new())
    }

    fn interpolate(&mut self, value: &Value) -> Result<Value, RubyCallbackError> {
        Ok(value.clone())
    }

    fn log(&mut self, _: &str, _: &str) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workers = RubyWorkers::new(RubyWorkerSettings::default());
    let environment = RubyEnvironment {
        name: "production".to_owned(),
        version: "1".to_owned(),
        directory: PathBuf::from("/etc/puppet/code/environments/production"),
        module_directories: vec![PathBuf::from("/usr/share/puppet/modules")],
    };
    let start = Instant::now();
    let session = workers.session(&environment)?;
    println!("first session of a version      {}", shown(start.elapsed()));
    let pair = [Value::from(vec![
        Value::from("a"),
        Value::from(vec![Value::from("b")]),
    ])];
    let start = Instant::now();
    session.call_function("any2array", &pair, None, &mut Nothing)?;
    println!("first call of a function        {}", shown(start.elapsed()));
    measure("warm call, 3.x any2array", || {
        session.call_function("any2array", &pair, None, &mut Nothing)?;
        Ok(())
    })?;
    measure("warm call, 4.x to_json", || {
        session.call_function("to_json", &pair, None, &mut Nothing)?;
        Ok(())
    })?;
    let text = "<% if @a == 'value' -%>\n<%= @b %> <%= scope['c'] %>\n<% end -%>\n".repeat(5);
    let template = RubyTemplate::Text(text);
    measure("ERB with six callbacks", || {
        session.render_erb(&template, &mut Nothing)?;
        Ok(())
    })?;
    drop(session);
    let mut times = Vec::new();
    let mut first = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..SESSIONS {
        let start = Instant::now();
        let session = workers.session(&environment)?;
        times.push(start.elapsed());
        let start = Instant::now();
        session.call_function("any2array", &pair, None, &mut Nothing)?;
        first.push(start.elapsed());
        let start = Instant::now();
        drop(session);
        ends.push(start.elapsed());
    }
    print_times("new session", times);
    print_times("its first call", first);
    print_times("end of a session", ends);
    Ok(())
}

fn measure(
    label: &str,
    mut call: impl FnMut() -> Result<(), ruby_workers::RubyCallError>,
) -> Result<(), ruby_workers::RubyCallError> {
    call()?;
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed());
    }
    print_times(label, times);
    Ok(())
}

fn print_times(label: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| shown(times[(times.len() - 1) * share / 100]);
    println!("{label:32}p50 {}  p99 {}", at(50), at(99));
}

fn shown(time: Duration) -> String {
    format!("{:7.3} ms", time.as_secs_f64() * 1000.0)
}
