//! Retry policy of failed downloads: [`RetryVerdict`] and [`wait_before`], without clock or
//! network.
//!
//! Invariant: only a failure that may pass by itself is retried, as long as the caller has time; a
//! missing file or wrong content fails at once, and an internal error of the server fails after a
//! few rounds.

use std::time::Duration;

use http::StatusCode;

use crate::defaults::{DOWNLOAD_BACKOFF, DOWNLOAD_RETRY_AFTER_MAX};

/// Classification of a failed response of a primary server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryVerdict {
    Good,
    /// A failure that may pass, with the wait that the server requested.
    Transient(Option<Duration>),
    /// The server is reachable but fails for this file: the failure may or may not pass.
    Faulty,
    Permanent,
}

pub(super) fn classify_failure(status: StatusCode, retry_after: Option<&str>) -> RetryVerdict {
    if status.is_success() {
        return RetryVerdict::Good;
    }
    if status == StatusCode::INTERNAL_SERVER_ERROR || status == StatusCode::NOT_IMPLEMENTED {
        return RetryVerdict::Faulty;
    }
    if status.is_server_error()
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
    {
        // The other form of `Retry-After`, a date, needs synchronized clocks: not worth it.
        let seconds = retry_after.and_then(|text| text.trim().parse().ok());
        return RetryVerdict::Transient(seconds.map(Duration::from_secs));
    }
    RetryVerdict::Permanent
}

/// The wait after `failed_rounds` rounds: it doubles from one second up to `ceiling`, half of it is
/// random (`fraction` in 0..1), and it is never shorter than the server requested.
pub(super) fn wait_before(
    failed_rounds: u32,
    asked: Option<Duration>,
    ceiling: Duration,
    fraction: f64,
) -> Duration {
    let doublings = 2_u32.saturating_pow(failed_rounds.saturating_sub(1));
    let full = DOWNLOAD_BACKOFF.saturating_mul(doublings).min(ceiling);
    let jittered = full.mul_f64(0.5 + fraction / 2.0);
    jittered.max(asked.unwrap_or_default().min(DOWNLOAD_RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged() {
        let judge =
            |status: u16, after| classify_failure(StatusCode::from_u16(status).unwrap(), after);
        assert_eq!(judge(200, None), RetryVerdict::Good);
        for status in [400, 401, 403, 404, 410] {
            assert_eq!(
                judge(status, Some("1")),
                RetryVerdict::Permanent,
                "{status}"
            );
        }
        for status in [500, 501] {
            assert_eq!(judge(status, Some("1")), RetryVerdict::Faulty, "{status}");
        }
        for status in [408, 429, 502, 503, 504, 599] {
            assert_eq!(
                judge(status, None),
                RetryVerdict::Transient(None),
                "{status}"
            );
        }
        let asked = RetryVerdict::Transient(Some(Duration::from_secs(7)));
        assert_eq!(judge(503, Some(" 7 ")), asked);
        assert_eq!(
            judge(503, Some("Fri, 31 Dec 1999 23:59:59 GMT")),
            RetryVerdict::Transient(None)
        );
    }

    #[test]
    fn waits_double_and_honour_the_server_within_reason() {
        let ceiling = Duration::from_secs(10);
        let ms =
            |rounds, asked, fraction| wait_before(rounds, asked, ceiling, fraction).as_millis();
        assert_eq!(
            [1, 2, 3, 4, 5, 500].map(|rounds| ms(rounds, None, 1.0)),
            [1000, 2000, 4000, 8000, 10_000, 10_000]
        );
        assert_eq!(ms(1, None, 0.0), 500);
        assert_eq!(ms(1, Some(Duration::from_secs(9)), 0.0), 9000);
        assert_eq!(ms(1, Some(Duration::from_secs(86400)), 0.0), 60_000);
    }
}
