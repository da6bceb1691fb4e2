//! An error with its causes: [`chain`] and [`causes`].

use std::error::Error;
use std::io;

use crate::ConnectionError;

/// An error and its causes in one line, without repetitions. The first error of a connection and
/// its causes are replaced by one [`ConnectionError`].
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in causes(error) {
        let is_of_connection = is_connection_error(cause);
        let told = match is_of_connection {
            true => ConnectionError::from_error(cause).to_string(),
            false => cause.to_string(),
        };
        // Many errors include the text of their cause.
        if !text.contains(&told) {
            let separator = if text.is_empty() { "" } else { ": " };
            text = text + separator + &told;
        }
        if is_of_connection {
            break;
        }
    }
    text
}

/// `error` and its causes, the outermost first.
pub(crate) fn causes<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error))
}

/// The cause of an error. `source` of an I/O error skips the wrapped error and returns the source
/// of that.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// True for an error of a library that connects, also if an I/O error wraps it.
fn is_connection_error(error: &(dyn Error + 'static)) -> bool {
    let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
    let is_one = |error: &(dyn Error + 'static)| {
        error.is::<reqwest::Error>() || error.is::<hyper::Error>() || error.is::<rustls::Error>()
    };
    is_one(error) || wrapped.is_some_and(|wrapped| is_one(wrapped))
}
