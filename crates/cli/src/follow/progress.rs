//! One line that says how far a job is, under everything else. Main type: [`Progress`].

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

/// A bar for fewer nodes is more noise than news.
const NODES_FOR_A_BAR: u64 = 2;

#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    running: u64,
    failed: u64,
}

// === impl Progress ===

impl Progress {
    pub(crate) fn new(nodes: u64, wanted: bool) -> Self {
        let shown = wanted && nodes >= NODES_FOR_A_BAR && terminal::is_interactive();
        let target = if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(nodes), target);
        let template = "{bar:24.green/dim} {pos}/{len} nodes  {per_sec}  {elapsed}  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━╌"));
        }
        Self {
            bar,
            running: 0,
            failed: 0,
        }
    }

    pub(crate) fn started(&mut self) {
        self.running += 1;
        self.tell();
    }

    pub(crate) fn ended(&mut self, succeeded: bool) {
        self.running = self.running.saturating_sub(1);
        self.failed += u64::from(!succeeded);
        self.bar.inc(1);
        self.tell();
    }

    /// Prints something without tearing the bar.
    pub(crate) fn above(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn tell(&self) {
        let mut message = format!("{} running", self.running);
        if self.failed > 0 {
            message = format!(
                "{message}, {}",
                terminal::bad(format!("{} failed", self.failed))
            );
        }
        self.bar.set_message(message);
    }
}
