//! An error with its causes: [`chain`] and [`causes`].

use std::error::Error;
use std::io;

use crate::ConnectionError;

/// An error and its causes in one line, each said once. From the first error of a connection on, it is
/// the [`ConnectionError`] that says the rest.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in causes(error) {
        let is_of_connection = is_connection_error(cause);
        let told = match is_of_connection {
            true => ConnectionError::from_error(cause).to_string(),
            false => cause.to_string(),
        };
        // Errors that show their cause in their own words are common.
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

/// The cause of an error. An I/O error hides the error that it wraps from `source`, which is the
/// source of the wrapped one.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// True for an error of a library that connects, within an I/O error too, which shows the words of
/// the error that it wraps.
fn is_connection_error(error: &(dyn Error + 'static)) -> bool {
    let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
    let is_one = |error: &(dyn Error + 'static)| {
        error.is::<reqwest::Error>() || error.is::<hyper::Error>() || error.is::<rustls::Error>()
    };
    is_one(error) || wrapped.is_some_and(|wrapped| is_one(wrapped))
}
