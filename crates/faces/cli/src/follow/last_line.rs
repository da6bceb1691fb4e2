//! The terminal as the progress line needs it. Main type: [`ProgressLineTerminal`].
//!
//! Invariant: the cursor stays behind the text. `indicatif` fills the line with blanks; then the
//! `^C` that the terminal echoes falls onto the next line, and the old progress stays on the
//! screen.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;

use crate::terminal;

/// Standard error, written once for each drawing.
#[derive(Debug, Default)]
pub(super) struct ProgressLineTerminal {
    pending: Mutex<String>,
}

// === impl ProgressLineTerminal ===

impl ProgressLineTerminal {
    fn lock_pending(&self) -> MutexGuard<'_, String> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the cursor `n` times in the direction that ANSI calls `letter`.
    fn move_cursor(&self, n: usize, letter: char) -> std::io::Result<()> {
        if n > 0 {
            // Writing to a String cannot fail.
            let _ = write!(self.lock_pending(), "\x1b[{n}{letter}");
        }
        Ok(())
    }
}

impl TermLike for ProgressLineTerminal {
    fn width(&self) -> u16 {
        u16::try_from(terminal::width()).unwrap_or(u16::MAX)
    }

    fn move_cursor_up(&self, n: usize) -> std::io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> std::io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> std::io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> std::io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, line: &str) -> std::io::Result<()> {
        self.lock_pending().push_str(line);
        self.lock_pending().push('\n');
        Ok(())
    }

    fn write_str(&self, text: &str) -> std::io::Result<()> {
        if !text.bytes().all(|byte| byte == b' ') {
            self.lock_pending().push_str(text);
        }
        Ok(())
    }

    fn clear_line(&self) -> std::io::Result<()> {
        self.lock_pending().push_str("\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> std::io::Result<()> {
        let text = std::mem::take(&mut *self.lock_pending());
        let mut stderr = std::io::stderr().lock();
        stderr.write_all(text.as_bytes())?;
        stderr.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_stays_behind_the_text() {
        let line = ProgressLineTerminal::default();
        line.clear_line().unwrap();
        line.write_str("1/3 nodes").unwrap();
        line.write_str("      ").unwrap();
        line.move_cursor_up(0).unwrap();
        assert_eq!(*line.lock_pending(), "\r\x1b[2K1/3 nodes");
    }
}
