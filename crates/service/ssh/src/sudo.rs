//! Dialog with `sudo` before a program runs as another user: [`SudoDialog`].
//!
//! A state machine over the output of `sudo`, without I/O. Invariants: the password is sent once,
//! and only for the exact prompt that was set; output after the marker belongs to the program.

use crate::defaults::SUDO_DIALOG_BYTES;

/// State of the dialog with `sudo`.
#[derive(Debug)]
pub(crate) struct SudoDialog {
    prompt: Vec<u8>,
    marker: Vec<u8>,
    seen: Vec<u8>,
    asked: bool,
}

/// Reaction to output of `sudo`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SudoReply {
    Nothing,
    /// Send the password.
    Prompt,
    /// The password was wrong.
    PromptAgain,
    /// The program has started; the first bytes of its output.
    Started(Vec<u8>),
    /// The output exceeds [`SUDO_DIALOG_BYTES`].
    TooLong,
}

impl SudoDialog {
    pub(crate) fn new(prompt: &str, marker: &str) -> Self {
        Self {
            prompt: prompt.as_bytes().to_owned(),
            marker: marker.as_bytes().to_owned(),
            seen: Vec::new(),
            asked: false,
        }
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) -> SudoReply {
        self.seen.extend_from_slice(bytes);
        if let Some(end) = end_of_line(&self.seen, &self.marker) {
            return SudoReply::Started(self.seen.split_off(end));
        }
        if let Some(at) = find(&self.seen, &self.prompt) {
            self.seen.drain(at..at + self.prompt.len());
            if std::mem::replace(&mut self.asked, true) {
                return SudoReply::PromptAgain;
            }
            return SudoReply::Prompt;
        }
        if self.seen.len() > SUDO_DIALOG_BYTES {
            return SudoReply::TooLong;
        }
        SudoReply::Nothing
    }

    /// Output without the prompt: the cause of a refusal.
    pub(crate) fn output_text(&self) -> String {
        crate::sanitize::sanitize_output(&self.seen)
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Position after the line with the marker; `None` until the line is complete.
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

    fn dialog() -> SudoDialog {
        SudoDialog::new("[tutti x] password: ", "tutti-began-x")
    }

    #[test]
    fn the_prompt_is_answered_once_in_whatever_pieces_it_comes() {
        let mut dialog = dialog();
        let mut said = Vec::new();
        for byte in b"We trust you\n[tutti x] password: " {
            said.push(dialog.receive(&[*byte]));
        }
        assert_eq!(said.pop(), Some(SudoReply::Prompt));
        assert!(said.iter().all(|said| *said == SudoReply::Nothing));
        assert_eq!(
            dialog.receive(b"Sorry, try again.\n[tutti x] password: "),
            SudoReply::PromptAgain
        );
        assert_eq!(dialog.output_text(), "We trust you\nSorry, try again.");
    }

    #[test]
    fn what_comes_behind_the_marker_is_the_programs() {
        let mut dialog = dialog();
        assert_eq!(dialog.receive(b"[tutti x] password: "), SudoReply::Prompt);
        assert_eq!(dialog.receive(b"\ntutti-began-x"), SudoReply::Nothing);
        assert_eq!(
            dialog.receive(b"\r\nfirst [tutti x] password: "),
            SudoReply::Started(b"first [tutti x] password: ".to_vec())
        );
    }

    #[test]
    fn endless_talk_is_cut() {
        let mut dialog = dialog();
        assert_eq!(
            dialog.receive(&vec![b'x'; SUDO_DIALOG_BYTES + 1]),
            SudoReply::TooLong
        );
    }
}
