//! Verification of webhook signatures, tokens and passwords: [`WebhookSecret::verify`].
//!
//! GitHub, Gitea, Forgejo and Bitbucket sign the body with HMAC-SHA-256; GitLab sends the secret in
//! a header, Azure DevOps and webhook-go's forges as the password of basic authentication.
//! Invariant: the comparison takes as long for a wrong secret as for the right one.

use aws_lc_rs::{constant_time, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};

use super::{ForgeKind, HeaderLookup};
use crate::defaults::SECRET_BYTES;

/// Secret that is shared by the forges and this server.
#[derive(Clone, Debug)]
pub struct WebhookSecret(SecretString);

/// Error: the secret is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret of webhooks must have at least {SECRET_BYTES} characters")]
pub struct WebhookSecretError;

/// Result of the verification of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookVerification {
    /// The sender knows the secret.
    Valid,
    /// The sender has sent a wrong secret or signature.
    Invalid,
    /// The request has neither signature nor secret.
    Absent,
}

// === impl WebhookSecret ===

impl WebhookSecret {
    /// Creates a secret. Surrounding white space is removed, since files end in a newline.
    pub fn new(text: &str) -> Result<Self, WebhookSecretError> {
        let text = text.trim();
        match text.len() >= SECRET_BYTES {
            true => Ok(Self(text.to_owned().into())),
            false => Err(WebhookSecretError),
        }
    }

    /// Verifies the signature, token or password of a webhook.
    pub fn verify(
        &self,
        host: ForgeKind,
        header: &HeaderLookup<'_>,
        body: &[u8],
    ) -> WebhookVerification {
        let shown = match host {
            ForgeKind::GitHub
            | ForgeKind::Gitea
            | ForgeKind::Bitbucket
            | ForgeKind::BitbucketServer => {
                host.signature(header).map(|it| self.has_signed(it, body))
            }
            ForgeKind::GitLab => {
                header("x-gitlab-token").map(|it| self.equals_secret(it.as_bytes()))
            }
            ForgeKind::Azure => header("authorization").and_then(|it| self.is_password(it)),
        };
        // A wrong password may be a proxy's, and counts as absent.
        let password = || header("authorization").and_then(|it| self.is_password(it));
        let shown = shown.or_else(|| password().filter(|is_right| *is_right));
        match shown {
            Some(true) => WebhookVerification::Valid,
            Some(false) => WebhookVerification::Invalid,
            None => WebhookVerification::Absent,
        }
    }

    /// Verifies the `Authorization` header alone, for requests without a body.
    pub fn verify_password(&self, authorization: &str) -> WebhookVerification {
        match self.is_password(authorization) {
            Some(true) => WebhookVerification::Valid,
            Some(false) => WebhookVerification::Invalid,
            None => WebhookVerification::Absent,
        }
    }

    /// Accepts `sha256=` and 64 hexadecimal digits, or the digits alone.
    fn has_signed(&self, signature: &str, body: &[u8]) -> bool {
        let digits = signature.strip_prefix("sha256=").unwrap_or(signature);
        let Some(tag) = parse_hex(digits) else {
            return false;
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose_secret().as_bytes());
        hmac::verify(&key, body, &tag).is_ok()
    }

    /// Compares hashes, so that the time does not reveal the length either.
    fn equals_secret(&self, shown: &[u8]) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"compare");
        let [own, shown] =
            [self.0.expose_secret().as_bytes(), shown].map(|it| hmac::sign(&key, it));
        constant_time::verify_slices_are_equal(own.as_ref(), shown.as_ref()).is_ok()
    }

    /// Compares the password; `None` for other kinds of `Authorization`, such as a token.
    fn is_password(&self, authorization: &str) -> Option<bool> {
        let encoded = authorization.strip_prefix("Basic ")?;
        let decoded = STANDARD.decode(encoded.trim()).ok()?;
        let colon = decoded.iter().position(|b| *b == b':')?;
        Some(self.equals_secret(&decoded[colon + 1..]))
    }
}

fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let value = |digit: u8| {
        (digit as char)
            .to_digit(16)
            .and_then(|it| u8::try_from(it).ok())
    };
    let pairs = digits.chunks_exact(2);
    pairs
        .map(|pair| Some(value(pair[0])? * 16 + value(pair[1])?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // GitHub's own example: "Validating webhook deliveries" of its documentation.
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const SIGNATURE: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn check(host: ForgeKind, name: &'static str, value: &str, body: &[u8]) -> WebhookVerification {
        let secret = WebhookSecret::new(SECRET).unwrap();
        secret.verify(host, &|asked: &str| (asked == name).then_some(value), body)
    }

    #[test]
    fn a_signature_is_of_this_secret_and_this_body() {
        let name = "x-hub-signature-256";
        assert_eq!(
            check(ForgeKind::GitHub, name, SIGNATURE, BODY),
            WebhookVerification::Valid
        );
        assert_eq!(
            check(ForgeKind::GitHub, name, SIGNATURE, b"Hello, World?"),
            WebhookVerification::Invalid
        );
        assert_eq!(
            check(ForgeKind::GitHub, "x-other", SIGNATURE, BODY),
            WebhookVerification::Absent
        );
        for wrong in [
            "",
            "sha256=",
            "sha256=75",
            "sha1=757107",
            "zz",
            &SIGNATURE[..70],
            "sha256=é7",
        ] {
            assert_eq!(
                check(ForgeKind::GitHub, name, wrong, BODY),
                WebhookVerification::Invalid,
                "{wrong}"
            );
        }
        let digits = &SIGNATURE[7..];
        assert_eq!(
            check(ForgeKind::Gitea, "x-gitea-signature", digits, BODY),
            WebhookVerification::Valid
        );
        assert_eq!(
            check(ForgeKind::Bitbucket, "x-hub-signature", SIGNATURE, BODY),
            WebhookVerification::Valid
        );
        // Other forges do not accept GitHub's signature.
        assert_eq!(
            check(ForgeKind::GitLab, name, SIGNATURE, BODY),
            WebhookVerification::Absent
        );
    }

    #[test]
    fn others_send_the_secret_itself() {
        assert_eq!(
            check(ForgeKind::GitLab, "x-gitlab-token", SECRET, b""),
            WebhookVerification::Valid
        );
        assert_eq!(
            check(ForgeKind::GitLab, "x-gitlab-token", "it's", b""),
            WebhookVerification::Invalid
        );
        let basic = format!("Basic {}", STANDARD.encode(format!("any:{SECRET}")));
        assert_eq!(
            check(ForgeKind::Azure, "authorization", &basic, b""),
            WebhookVerification::Valid
        );
        // webhook-go's forges do.
        assert_eq!(
            check(ForgeKind::GitHub, "authorization", &basic, b""),
            WebhookVerification::Valid
        );
        let basic = format!("Basic {}", STANDARD.encode("any:thing"));
        assert_eq!(
            check(ForgeKind::GitHub, "authorization", &basic, b""),
            WebhookVerification::Absent
        );
        assert_eq!(
            check(ForgeKind::Azure, "authorization", &basic, b""),
            WebhookVerification::Invalid
        );
        assert_eq!(
            check(ForgeKind::Azure, "authorization", "Bearer x", b""),
            WebhookVerification::Absent
        );
    }

    #[test]
    fn a_secret_is_not_too_short() {
        assert!(WebhookSecret::new("  0123456789abcde \n").is_err());
        assert!(WebhookSecret::new("0123456789abcdef\n").is_ok());
    }
}
