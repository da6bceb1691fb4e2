//! Scenarios one after the other on one site, since starting a puppetserver takes a minute.
//! Main type: [`Scenarios`].

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::FutureExt as _;

use crate::site::{Site, SiteOptions};

/// A scenario's future.
pub type Running<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Longer than any scenario needs, to end a broken one with its name.
const DEADLINE: Duration = Duration::from_secs(300);

/// Named scenarios; the command line's first word chooses those that contain it.
#[derive(Default)]
pub struct Scenarios {
    all: Vec<(&'static str, Scenario)>,
    on_request: Vec<(&'static str, Scenario)>,
}

type Scenario = Box<dyn for<'a> Fn(&'a mut Site) -> Running<'a>>;

// === impl Scenarios ===

impl Scenarios {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more.
    #[must_use]
    pub fn with<F>(mut self, name: &'static str, scenario: F) -> Self
    where
        F: for<'a> Fn(&'a mut Site) -> Running<'a> + 'static,
    {
        self.all.push((name, Box::new(scenario)));
        self
    }

    /// One more, which only runs when it is named: a measurement.
    #[must_use]
    pub fn on_request<F>(mut self, name: &'static str, scenario: F) -> Self
    where
        F: for<'a> Fn(&'a mut Site) -> Running<'a> + 'static,
    {
        self.on_request.push((name, Box::new(scenario)));
        self
    }

    /// Starts the site, runs them, stops the site, and says how it went.
    pub fn run(self, options: &SiteOptions) -> ExitCode {
        let filter = std::env::args().skip(1).find(|word| !word.starts_with('-'));
        let chosen = |name: &str| filter.as_deref().is_none_or(|part| name.contains(part));
        let named = |name: &str| filter.as_deref() == Some(name);
        let ordinary = self.all.iter().filter(|(name, _)| chosen(name));
        let asked_for = self.on_request.iter().filter(|(name, _)| named(name));
        let scenarios: Vec<_> = ordinary.chain(asked_for).collect();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        let result = runtime
            .map_err(anyhow::Error::from)
            .and_then(|runtime| runtime.block_on(run(&scenarios, options)));
        match result {
            Ok(0) => ExitCode::SUCCESS,
            Ok(failed) => {
                eprintln!("{failed} of {} scenarios failed", scenarios.len());
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("the site cannot be started: {error:#}");
                ExitCode::FAILURE
            }
        }
    }
}

impl std::fmt::Debug for Scenarios {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.all.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

async fn run(scenarios: &[&(&'static str, Scenario)], options: &SiteOptions) -> Result<usize> {
    let started = Instant::now();
    let mut site = Site::start(options).await?;
    eprintln!("site started in {} s", started.elapsed().as_secs());
    let mut failed = 0;
    for (name, scenario) in scenarios {
        let began = Instant::now();
        let attempt = AssertUnwindSafe(scenario(&mut site)).catch_unwind();
        let ended = tokio::time::timeout(DEADLINE, attempt).await;
        let word = match ended {
            Ok(Ok(())) => "ok",
            // The panic's message stands above this line.
            Ok(Err(_)) => "FAILED",
            Err(_) => "FAILED (took too long)",
        };
        failed += usize::from(word != "ok");
        eprintln!(
            "scenario {name} ... {word} ({} ms)",
            began.elapsed().as_millis()
        );
    }
    if failed > 0 {
        eprintln!("{}", site.logs());
    }
    site.stop().await?;
    Ok(failed)
}
