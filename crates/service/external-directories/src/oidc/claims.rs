//! Verification of ID tokens: [`verify_token`].
//!
//! Invariants: only signatures with public keys are accepted, by an algorithm of the key's kind
//! (never `none`, never one with a shared secret); issuer, audience, authorized party, times and
//! nonce are all checked, and a missing claim is an error.

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use rbac::RemoteUser;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::{OidcConfig, OidcError, digest_secret};
use crate::defaults::{CLOCK_SKEW, GROUPS, ID_TOKEN_AGE, LOGIN_BYTES};

type TokenClaims = Map<String, Value>;

fn invalid_token<T>(what: &str) -> Result<T, OidcError> {
    Err(OidcError::Token(what.to_owned()))
}

/// Reads the header, which is not verified yet.
pub(super) fn read_header(token: &SecretString) -> Result<Header, OidcError> {
    let header = jsonwebtoken::decode_header(token.expose_secret());
    let Ok(header) = header else {
        return invalid_token("it is no signed token");
    };
    let by_public_key = matches!(
        header.alg,
        Algorithm::RS256
            | Algorithm::RS384
            | Algorithm::RS512
            | Algorithm::PS256
            | Algorithm::PS384
            | Algorithm::PS512
            | Algorithm::ES256
            | Algorithm::ES384
            | Algorithm::EdDSA
    );
    match by_public_key {
        true => Ok(header),
        false => invalid_token("it is not signed by a key of the provider"),
    }
}

/// Verifies the token and returns its user.
pub(super) fn verify_token(
    config: &OidcConfig,
    token: &SecretString,
    header: &Header,
    keys: &[Jwk],
    nonce: &str,
) -> Result<RemoteUser, OidcError> {
    let claims = verify_signature(config, token, header, keys)?;
    let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
    if digest_secret(text("nonce")) != digest_secret(nonce) {
        return invalid_token("its nonce is that of another login");
    }
    check_party(config, &claims)?;
    check_age(&claims, jiff::Timestamp::now().as_second())?;
    let login = text(&config.login_claim);
    let fits = |text: &str| !text.chars().any(char::is_control) && text.len() <= LOGIN_BYTES;
    if login.trim().is_empty() || !fits(login) {
        return invalid_token(&format!(
            "it has no login in the claim {:?}",
            config.login_claim
        ));
    }
    // Otherwise a user of the provider could claim the address of another person.
    let verified = claims.get("email_verified").and_then(Value::as_bool);
    if config.login_claim == "email" && verified != Some(true) {
        return invalid_token("its e-mail address, which is the login here, is not verified");
    }
    let subject = text("sub");
    if subject.is_empty() {
        return invalid_token("it names no subject");
    }
    let email = Some(text("email")).filter(|text| fits(text));
    let name = Some(text("name")).filter(|text| fits(text) && !text.is_empty());
    Ok(RemoteUser {
        origin: config.origin(),
        subject: subject.to_owned(),
        login: login.to_owned(),
        display_name: name.unwrap_or(login).to_owned(),
        email: email.unwrap_or_default().to_owned(),
        groups: groups(config, &claims)?,
    })
}

/// Verifies signature, issuer, audience and expiry, and returns the claims.
fn verify_signature(
    config: &OidcConfig,
    token: &SecretString,
    header: &Header,
    keys: &[Jwk],
) -> Result<TokenClaims, OidcError> {
    let mut validation = Validation::new(header.alg);
    validation.leeway = CLOCK_SKEW.as_secs();
    validation.validate_nbf = true;
    validation.set_audience(&[&config.client_id]);
    validation.set_issuer(&[&config.issuer]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    let mut why = "its key is not one of the provider's".to_owned();
    for key in keys {
        if !is_of_kind(key, header.alg) {
            continue;
        }
        let Ok(decoding) = DecodingKey::from_jwk(key) else {
            continue;
        };
        match jsonwebtoken::decode::<TokenClaims>(token.expose_secret(), &decoding, &validation) {
            Ok(decoded) => return Ok(decoded.claims),
            Err(error) => why = error.to_string(),
        }
    }
    invalid_token(&why)
}

/// Checks that a key is used with its own algorithm only.
fn is_of_kind(key: &Jwk, algorithm: Algorithm) -> bool {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let kind = match &key.algorithm {
        AlgorithmParameters::RSA(_) => {
            matches!(algorithm, RS256 | RS384 | RS512 | PS256 | PS384 | PS512)
        }
        AlgorithmParameters::EllipticCurve(_) => matches!(algorithm, ES256 | ES384),
        AlgorithmParameters::OctetKeyPair(_) => matches!(algorithm, EdDSA),
        _ => false,
    };
    let meant = key.common.key_algorithm;
    let same = meant.is_none_or(|meant| meant.to_string() == format!("{algorithm:?}"));
    kind && same
}

/// A token for several audiences must name this client as its authorized party.
fn check_party(config: &OidcConfig, claims: &TokenClaims) -> Result<(), OidcError> {
    let several = claims
        .get("aud")
        .and_then(Value::as_array)
        .is_some_and(|audience| audience.len() > 1);
    match claims.get("azp").map(Value::as_str) {
        Some(Some(party)) if party == config.client_id => Ok(()),
        None if !several => Ok(()),
        _ => invalid_token("it was given to another client"),
    }
}

fn check_age(claims: &TokenClaims, now_s: i64) -> Result<(), OidcError> {
    let seconds = |limit: std::time::Duration| i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
    let Some(issued) = claims.get("iat").and_then(Value::as_i64) else {
        return invalid_token("it does not say when it was issued");
    };
    let skew = seconds(CLOCK_SKEW);
    let age = now_s.saturating_sub(issued);
    if age < -skew {
        return invalid_token("it was issued in the future; do the clocks differ?");
    }
    match age > seconds(ID_TOKEN_AGE) + skew {
        true => invalid_token("it was issued too long ago"),
        false => Ok(()),
    }
}

fn groups(config: &OidcConfig, claims: &TokenClaims) -> Result<Vec<String>, OidcError> {
    let given = match claims.get(&config.groups_claim) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(some)) => {
            let names = some.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        }
        Some(_) => return invalid_token("its groups are no list of names"),
    };
    match given.len() > GROUPS {
        true => invalid_token("it names too many groups"),
        false => Ok(given),
    }
}
