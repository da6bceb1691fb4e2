//! What is said before a program runs as another user: [`Dialog`].
//!
//! A state machine without I/O over what `sudo` writes. The rule: the password is given once, and
//! only to the very prompt that was asked for; what comes behind the marker is the program's.

use crate::defaults::SUDO_DIALOG_BYTES;

/// The talk with `sudo`.
#[derive(Debug)]
pub(crate) struct Dialog {
    prompt: Vec<u8>,
    marker: Vec<u8>,
    seen: Vec<u8>,
    asked: bool,
}

/// What follows from what was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Nothing,
    /// It wants the password.
    Prompt,
    /// It wants it again: the first was wrong.
    PromptAgain,
    /// The program runs; this is the begin of its own output.
    Through(Vec<u8>),
    /// More than any `sudo` has to say.
    TooMuch,
}

impl Dialog {
    pub(crate) fn new(prompt: &str, marker: &str) -> Self {
        Self {
            prompt: prompt.as_bytes().to_owned(),
            marker: marker.as_bytes().to_owned(),
            seen: Vec::new(),
            asked: false,
        }
    }

    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Said {
        self.seen.extend_from_slice(bytes);
        if let Some(end) = end_of_line(&self.seen, &self.marker) {
            return Said::Through(self.seen.split_off(end));
        }
        if let Some(at) = find(&self.seen, &self.prompt) {
            self.seen.drain(at..at + self.prompt.len());
            if std::mem::replace(&mut self.asked, true) {
                return Said::PromptAgain;
            }
            return Said::Prompt;
        }
        if self.seen.len() > SUDO_DIALOG_BYTES {
            return Said::TooMuch;
        }
        Said::Nothing
    }

    /// What was said beside the prompt: why it did not let us through.
    pub(crate) fn words(&self) -> String {
        crate::words::clean(&self.seen)
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Behind the line that is the marker, once it is complete.
fn end_of_line(text: &[u8], marker: &[u8]) -> Option<usize> {
    let behind = find(text, marker)? + marker.len();
    match text.get(behind..)? {
        [b'\n', ..] => Some(behind + 1),
        [b'\r', b'\n', ..] => Some(behind + 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog() -> Dialog {
        Dialog::new("[tutti x] password: ", "tutti-began-x")
    }

    #[test]
    fn the_prompt_is_answered_once_in_whatever_pieces_it_comes() {
        let mut dialog = dialog();
        let mut said = Vec::new();
        for byte in b"We trust you\n[tutti x] password: " {
            said.push(dialog.hear(&[*byte]));
        }
        assert_eq!(said.pop(), Some(Said::Prompt));
        assert!(said.iter().all(|said| *said == Said::Nothing));
        assert_eq!(
            dialog.hear(b"Sorry, try again.\n[tutti x] password: "),
            Said::PromptAgain
        );
        assert_eq!(dialog.words(), "We trust you\nSorry, try again.");
    }

    #[test]
    fn what_comes_behind_the_marker_is_the_programs() {
        let mut dialog = dialog();
        assert_eq!(dialog.hear(b"[tutti x] password: "), Said::Prompt);
        assert_eq!(dialog.hear(b"\ntutti-began-x"), Said::Nothing);
        assert_eq!(
            dialog.hear(b"\r\nfirst [tutti x] password: "),
            Said::Through(b"first [tutti x] password: ".to_vec())
        );
    }

    #[test]
    fn endless_talk_is_cut() {
        let mut dialog = dialog();
        assert_eq!(
            dialog.hear(&vec![b'x'; SUDO_DIALOG_BYTES + 1]),
            Said::TooMuch
        );
    }
}
