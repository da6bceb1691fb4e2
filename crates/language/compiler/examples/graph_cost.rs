//! Time in which the graph of an environment's applications is compiled and its components are ordered:
//! `graph_cost [--smallest]`.
//!
//! Each round begins with an environment that was not used before, as the first request after a deployment does, so
//! that its manifests are parsed. The server keeps the graph of a version after that.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use compiler::{ApplicationGraphRequest, application_graph};

#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "only a part of the tests' world is used here"
)]
#[path = "../tests/it/world.rs"]
mod world;

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Rounds of which the median is printed.
const ROUNDS: usize = 9;

/// Components of each application of several.
const COMPONENTS: usize = 10;

/// A database and its web servers. The database of an application starts after that of the one before, so that the order
/// has as many levels as there are applications.
const STACK: &str = r#"
application stack(Integer $components, Integer $number = 0) {
  $before = $number ? { 0 => [], default => [Database["s${$number - 1}"]] }
  stack::database { $name: require => $before, export => Database[$name] }
  Integer[2, $components].each |$n| {
    stack::web { "${name}-${n}": consume => Database[$name] }
  }
}
"#;

/// The components, whose parameters the graph checks.
const FILES: [(&str, &str); 4] = [
    ("stack/manifests/init.pp", STACK),
    (
        "stack/manifests/database.pp",
        "define stack::database(Integer $port = 5432) { }
Stack::Database produces Database { host => $facts['networking']['fqdn'] }
",
    ),
    (
        "stack/manifests/web.pp",
        "define stack::web(String $host, Integer $port) { }
Stack::Web consumes Database { }
",
    ),
    (
        "database/manifests/init.pp",
        "capability database(String $host, Integer $port) { }
",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let components = match arguments.as_slice() {
        [] => 10_000,
        [one] if one == "--smallest" => 20,
        _ => {
            eprintln!("usage: graph_cost [--smallest]");
            return ExitCode::FAILURE;
        }
    };
    match measure_all(components) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_all(components: usize) -> Result<(), String> {
    let applications = components / COMPONENTS;
    for (shape, site) in [
        ("of applications in a loop", site_in_a_loop(applications)),
        (
            "of applications written out",
            site_written_out(applications),
        ),
        ("of one application", site_of_one(components)),
        ("in one chain", site_of_a_chain(components)),
    ] {
        let (compiling, ordering) = measure(&site, components)?;
        println!(
            "{components} components {shape}: compiled in {compiling:.2?}, ordered in {ordering:.2?}"
        );
    }
    Ok(())
}

/// Applications with two nodes each, of which one has the database.
fn site_in_a_loop(applications: usize) -> String {
    format!(
        "site {{
  Integer[0, {}].each |$n| {{
    stack {{ \"s${{n}}\":
      components => {COMPONENTS},
      number     => $n,
      nodes      => {{
        Node[\"db${{n}}.example.net\"]  => Stack::Database[\"s${{n}}\"],
        Node[\"web${{n}}.example.net\"] => Integer[2, {COMPONENTS}].map |$c| {{ Stack::Web[\"s${{n}}-${{c}}\"] }},
      }},
    }}
  }}
}}
",
        applications - 1
    )
}

/// The same, as a program writes it that knows the nodes.
fn site_written_out(applications: usize) -> String {
    let mut site = "site {\n".to_owned();
    for number in 0..applications {
        let webs: Vec<String> = (2..=COMPONENTS)
            .map(|web| format!("Stack::Web['s{number}-{web}']"))
            .collect();
        let _ = write!(
            site,
            "  stack {{ 's{number}':
    components => {COMPONENTS},
    number     => {number},
    nodes      => {{
      Node['db{number}.example.net']  => Stack::Database['s{number}'],
      Node['web{number}.example.net'] => [{}],
    }},
  }}
",
            webs.join(", ")
        );
    }
    site + "}\n"
}

/// An application whose web servers have a node each.
fn site_of_one(components: usize) -> String {
    format!(
        "site {{
  $webs = Integer[2, {components}].map |$n| {{ [Node[\"web${{n}}.example.net\"], Stack::Web[\"one-${{n}}\"]] }}
  stack {{ 'one':
    components => {components},
    nodes      => {{ Node['db.example.net'] => Stack::Database['one'] }} + Hash($webs),
  }}
}}
"
    )
}

/// An application in which each component consumes from the one before, on 50 nodes or fewer.
fn site_of_a_chain(components: usize) -> String {
    let of_node = components.div_ceil(50);
    format!(
        "capability cap(Integer $v) {{ }}
define part(Integer $v = 1) {{ }}
Part produces Cap {{ }}
Part consumes Cap {{ }}
application chain() {{
  part {{ 'p0': export => Cap['c0'] }}
  Integer[1, {last}].each |$i| {{
    part {{ \"p$i\": consume => Cap[\"c${{$i - 1}}\"], export => Cap[\"c$i\"] }}
  }}
}}
site {{
  $parts = Integer[0, {last}].map |$i| {{ Part[\"p$i\"] }}
  $nodes = $parts.slice({of_node}).map |$n, $of_node| {{ [Node[\"n$n.example.net\"], $of_node] }}
  chain {{ 'one': nodes => Hash($nodes) }}
}}
",
        last = components - 1,
    )
}

/// Median times of the compilation and of the order.
fn measure(site: &str, components: usize) -> Result<(Duration, Duration), String> {
    let (mut compiling, mut ordering) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let environment = world::with_applications(site, &FILES);
        let since = Instant::now();
        let graph = application_graph(&environment, &ApplicationGraphRequest::default());
        let graph = graph.map_err(|error| error.to_string())?;
        compiling.push(since.elapsed());
        let since = Instant::now();
        let ordered = graph.producers_first().map(|it| it.len()).ok();
        ordering.push(since.elapsed());
        if ordered != Some(components) {
            return Err(format!(
                "{ordered:?} of {components} components are ordered"
            ));
        }
    }
    Ok((median(compiling), median(ordering)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
