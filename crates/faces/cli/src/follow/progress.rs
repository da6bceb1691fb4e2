//! The progress line of a job, below all other output. Main type: [`JobProgress`].

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::last_line::ProgressLineTerminal;
use crate::terminal::{self, style_failure};

/// Fewest nodes for which a bar is drawn.
const NODES_FOR_A_BAR: u64 = 2;

/// Interval at which the elapsed time is updated while no node ends.
const TICK: Duration = Duration::from_secs(1);

/// Drawings per second, the default of `indicatif`.
const DRAWINGS: u8 = 20;

/// Columns of the bar if the terminal is wide enough: the text beside it needs about forty.
const BAR: usize = 24;

#[derive(Debug)]
pub(crate) struct JobProgress {
    bar: ProgressBar,
    running: u64,
    failed: u64,
}

// === impl JobProgress ===

impl JobProgress {
    pub(crate) fn new(nodes: u64, wanted: bool) -> Self {
        let shown = wanted && nodes >= NODES_FOR_A_BAR && terminal::is_watched();
        let target = if shown {
            ProgressDrawTarget::term_like_with_hz(
                Box::new(ProgressLineTerminal::default()),
                DRAWINGS,
            )
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(nodes), target);
        bar.set_style(style());
        if shown {
            bar.enable_steady_tick(TICK);
        }
        Self {
            bar,
            running: 0,
            failed: 0,
        }
    }

    pub(crate) fn count_started(&mut self) {
        self.running += 1;
        self.update_message();
    }

    pub(crate) fn count_ended(&mut self, succeeded: bool) {
        self.running = self.running.saturating_sub(1);
        self.failed += u64::from(!succeeded);
        self.bar.inc(1);
        self.update_message();
    }

    /// Prints above the bar without breaking it.
    pub(crate) fn print_above(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn update_message(&self) {
        let mut message = format!("{} running", self.running);
        if self.failed > 0 {
            message = format!(
                "{message}, {}",
                style_failure(format!("{} failed", self.failed))
            );
        }
        self.bar.set_message(message);
    }
}

fn style() -> ProgressStyle {
    let bar = BAR.min(terminal::width() / 4);
    let template =
        format!("{{bar:{bar}.green/dim}} {{pos}}/{{len}} nodes  {{elapsed}}{{rate}}  {{msg}}");
    let style =
        ProgressStyle::with_template(&template).expect("the template is fixed but for a number");
    style
        .progress_chars("━━╌")
        .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
            // Writing to a String cannot fail, and there is no remedy for another writer's error.
            let _ = out.write_str(&format_rate(state.per_sec()));
        })
}

/// Nodes per second, if that is meaningful.
fn format_rate(per_second: f64) -> String {
    match per_second {
        none if none < 0.1 => String::new(),
        few if few < 10.0 => format!("  {few:.1}/s"),
        many => format!("  {many:.0}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_short_and_absent_when_it_says_nothing() {
        let read: Vec<_> = [0.0, 0.04, 2.345, 1234.5].map(format_rate).into();
        assert_eq!(read, ["", "", "  2.3/s", "  1234/s"]);
    }

    #[test]
    fn the_style_is_valid() {
        style();
    }
}
