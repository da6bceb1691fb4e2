//! The serial number file and the inventory.
//!
//! `serial` holds the next number in hexadecimal; it is incremented durably before the number is
//! used. The inventory has a line for every certificate ever issued:
//! `0x0001 2026-01-01T00:00:00UTC 2031-01-01T00:00:00UTC /CN=name`.
//! Callers hold the authority's lock.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::CaError;
use super::layout::{CaLayout, PUBLIC_MODE};
use super::leaf::IssuedCertificate;
use super::read::read_optional;
use crate::durable;

/// A serial number as big-endian bytes without leading zeros.
pub(super) type SerialBytes = Vec<u8>;

/// Reserves the next serial number, which is never returned again.
pub(super) fn take_serial(layout: &CaLayout) -> Result<u64, CaError> {
    let path = layout.serial();
    let text = read_optional(&path)?.ok_or_else(|| {
        damaged_error(&path, "it is missing, so the next serial number is unknown")
    })?;
    let serial = parse_serial(&path, &text)?;
    write_serial(layout, serial + 1)?;
    Ok(serial)
}

/// Sets the next serial number.
pub(super) fn write_serial(layout: &CaLayout, next: u64) -> Result<(), CaError> {
    Ok(durable::write_atomic(
        &layout.serial(),
        format!("{next:04X}").as_bytes(),
        PUBLIC_MODE,
    )?)
}

/// Ensures at start that the next serial number is above every number in the inventory: a `serial`
/// file from an old backup must not cause duplicate numbers.
pub(super) fn repair(layout: &CaLayout) -> Result<(), CaError> {
    let path = layout.serial();
    let text = read_optional(&path)?.ok_or_else(|| {
        damaged_error(&path, "it is missing, so the next serial number is unknown")
    })?;
    let next = parse_serial(&path, &text)?;
    let highest = highest_in_inventory(layout)?;
    if next <= highest {
        tracing::warn!(next, highest, serial = %path.display(),
            "the serial number file is behind the inventory; going on above the inventory");
        write_serial(layout, highest + 1)?;
    }
    Ok(())
}

/// The highest serial number in the inventory, 0 if it is empty.
pub(super) fn highest_in_inventory(layout: &CaLayout) -> Result<u64, CaError> {
    let inventory = read_optional(&layout.inventory())?.unwrap_or_default();
    let serials = inventory
        .lines()
        .filter_map(|line| InventoryLine::parse(line)?.number());
    Ok(serials.max().unwrap_or(0))
}

/// Records a certificate before it can be downloaded.
pub(super) fn record(
    layout: &CaLayout,
    serial: u64,
    issued: &IssuedCertificate,
    certname: &str,
) -> Result<(), CaError> {
    let line = format!(
        "0x{serial:04X} {} {} /CN={certname}\n",
        inventory_time(issued.not_before_s),
        inventory_time(issued.not_after_s),
    );
    Ok(durable::append(
        &layout.inventory(),
        line.as_bytes(),
        PUBLIC_MODE,
    )?)
}

/// Every serial number that a certname ever had.
pub(super) fn serials_of(
    layout: &CaLayout,
    certname: &str,
) -> Result<BTreeSet<SerialBytes>, CaError> {
    let inventory = read_optional(&layout.inventory())?.unwrap_or_default();
    let subject = format!("/CN={certname}");
    let lines = inventory.lines().filter_map(InventoryLine::parse);
    Ok(lines
        .filter(|line| line.subject == subject)
        .filter_map(|line| line.bytes())
        .collect())
}

fn inventory_time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%SUTC").to_string()
}

/// One line of the inventory. Lines that do not have this form are ignored: a crash can leave half
/// a line at the end.
struct InventoryLine<'a> {
    serial: &'a str,
    subject: &'a str,
}

impl<'a> InventoryLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        let serial = parts.next()?.strip_prefix("0x")?;
        let subject = parts.nth(2)?;
        Some(Self { serial, subject })
    }

    fn number(&self) -> Option<u64> {
        u64::from_str_radix(self.serial, 16).ok()
    }

    fn bytes(&self) -> Option<SerialBytes> {
        if self.serial.len() > 40 {
            return None; // RFC 5280: at most 20 bytes
        }
        let value = x509_parser::num_bigint::BigUint::parse_bytes(self.serial.as_bytes(), 16)?;
        Some(value.to_bytes_be())
    }
}

fn parse_serial(path: &Path, text: &str) -> Result<u64, CaError> {
    match u64::from_str_radix(text.trim(), 16) {
        // The upper half is excluded so that numbers stay positive in DER.
        Ok(serial) if serial > 0 && serial < u64::MAX / 2 => Ok(serial),
        _ => Err(damaged_error(path, "it is no hexadecimal number")),
    }
}

fn damaged_error(path: &Path, what: &str) -> CaError {
    CaError::Damaged {
        path: path.to_owned(),
        what: what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(serial: &str, inventory: &str) -> (tempfile::TempDir, CaLayout) {
        let dir = tempfile::tempdir().unwrap();
        let layout = CaLayout::new(dir.path());
        std::fs::write(layout.serial(), serial).unwrap();
        std::fs::write(layout.inventory(), inventory).unwrap();
        (dir, layout)
    }

    #[test]
    fn serials_go_up_in_hexadecimal() {
        let (_dir, layout) = layout("000F\n", "");
        assert_eq!(take_serial(&layout).unwrap(), 15);
        assert_eq!(take_serial(&layout).unwrap(), 16);
        assert_eq!(std::fs::read_to_string(layout.serial()).unwrap(), "0011");
    }

    #[test]
    fn a_missing_or_damaged_serial_file_never_starts_again_at_one() {
        for text in [
            "",
            "xyz",
            "0",
            "-1",
            "FFFFFFFFFFFFFFFF",
            "1FFFFFFFFFFFFFFFFF",
        ] {
            let (_dir, layout) = layout(text, "");
            assert!(
                matches!(take_serial(&layout), Err(CaError::Damaged { .. })),
                "{text:?}"
            );
        }
        let (_dir, layout) = layout("1", "");
        std::fs::remove_file(layout.serial()).unwrap();
        assert!(matches!(take_serial(&layout), Err(CaError::Damaged { .. })));
    }

    #[test]
    fn an_old_serial_file_is_lifted_above_the_inventory() {
        let inventory = "0x0001 a b /CN=one\n0x00FF a b /CN=two words\nhalf a li";
        let (_dir, layout) = layout("0003", inventory);
        repair(&layout).unwrap();
        assert_eq!(take_serial(&layout).unwrap(), 0x100);
    }

    #[test]
    fn the_inventory_finds_every_serial_of_a_name() {
        let inventory = "0x0001 a b /CN=one\n0x0002 a b /CN=one.two\n0x0103 a b /CN=one\n";
        let (_dir, layout) = layout("0004", inventory);
        let serials: Vec<_> = serials_of(&layout, "one").unwrap().into_iter().collect();
        assert_eq!(serials, [vec![1], vec![1, 3]]);
    }
}
