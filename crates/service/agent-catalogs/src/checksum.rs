//! Checksums of files as agents name them: [`ChecksumType`].

use std::fs::File;
use std::io::{self, Read};
use std::str::FromStr;

use environments::{FileMetadata, ServedFileKind};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::Digest;

/// Bytes of a file that the `lite` types read, as in Puppet.
const LITE_BYTES: u64 = 512;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// A checksum type of Puppet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumType {
    Sha256,
    Sha256Lite,
    Sha384,
    Sha512,
    Sha224,
    Sha1,
    Sha1Lite,
    Md5,
    Md5Lite,
    Mtime,
    Ctime,
    None,
}

/// A text that is not the name of a checksum type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown checksum type; sha256, sha256lite, sha384, sha512, sha224, sha1, sha1lite, md5, md5lite, mtime, ctime and none are known"
)]
pub struct UnknownChecksumType;

const NAMES: [(ChecksumType, &str); 12] = [
    (ChecksumType::Sha256, "sha256"),
    (ChecksumType::Sha256Lite, "sha256lite"),
    (ChecksumType::Sha384, "sha384"),
    (ChecksumType::Sha512, "sha512"),
    (ChecksumType::Sha224, "sha224"),
    (ChecksumType::Sha1, "sha1"),
    (ChecksumType::Sha1Lite, "sha1lite"),
    (ChecksumType::Md5, "md5"),
    (ChecksumType::Md5Lite, "md5lite"),
    (ChecksumType::Mtime, "mtime"),
    (ChecksumType::Ctime, "ctime"),
    (ChecksumType::None, "none"),
];

impl ChecksumType {
    /// Name of the type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let found = NAMES.iter().find(|(known, _)| *known == self);
        found.map_or("none", |(_, name)| name)
    }

    /// All types.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(checksum_type, _)| *checksum_type)
    }

    /// The first type of an agent's list, such as `sha256.sha384.md5`, that identifies content.
    #[must_use]
    pub fn first_common(list: &str) -> Option<Self> {
        let types = list.split('.').filter_map(|name| name.parse().ok());
        types.into_iter().find(|it: &Self| it.identifies_content())
    }

    fn identifies_content(self) -> bool {
        matches!(
            self,
            Self::Sha256 | Self::Sha384 | Self::Sha512 | Self::Sha224 | Self::Sha1 | Self::Md5
        )
    }

    /// The checksum of a file as Puppet writes it, such as `{sha256}0e1f…`; of a directory, the time
    /// of its last change.
    ///
    /// # Errors
    /// The file has to be read, and cannot be.
    pub fn checksum(
        self,
        file: &FileMetadata,
        open: impl FnOnce() -> io::Result<File>,
    ) -> io::Result<String> {
        let (ServedFileKind::File { sha256, .. }, true) = (&file.kind, self != Self::Ctime) else {
            return Ok(format!("{{ctime}}{}", time_text(file.changed_seconds)));
        };
        let digest = match self {
            Self::Sha256 => sha256.to_string(),
            Self::None => String::new(),
            Self::Ctime | Self::Mtime => time_text(file.changed_seconds),
            Self::Sha256Lite => digest::<sha2::Sha256>(open()?.take(LITE_BYTES))?,
            Self::Sha384 => digest::<sha2::Sha384>(open()?)?,
            Self::Sha512 => digest::<sha2::Sha512>(open()?)?,
            Self::Sha224 => digest::<sha2::Sha224>(open()?)?,
            Self::Sha1 => digest::<sha1::Sha1>(open()?)?,
            Self::Sha1Lite => digest::<sha1::Sha1>(open()?.take(LITE_BYTES))?,
            Self::Md5 => digest::<md5::Md5>(open()?)?,
            Self::Md5Lite => digest::<md5::Md5>(open()?.take(LITE_BYTES))?,
        };
        Ok(format!("{{{}}}{digest}", self.as_str()))
    }

    /// The type that a checksum of this type has for a file: directories have the time only.
    #[must_use]
    pub fn of_kind(self, kind: &ServedFileKind) -> Self {
        match kind {
            ServedFileKind::File { .. } => self,
            ServedFileKind::Directory | ServedFileKind::Link { .. } => Self::Ctime,
        }
    }
}

impl FromStr for ChecksumType {
    type Err = UnknownChecksumType;

    fn from_str(text: &str) -> Result<Self, UnknownChecksumType> {
        let found = NAMES.iter().find(|(_, name)| *name == text);
        found.map(|(known, _)| *known).ok_or(UnknownChecksumType)
    }
}

fn digest<D: Digest>(mut content: impl Read) -> io::Result<String> {
    let mut hasher = D::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match content.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    let digits = hasher.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A time as Ruby writes it.
fn time_text(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).unwrap_or_default();
    let time = time.to_zoned(TimeZone::UTC);
    time.strftime("%Y-%m-%d %H:%M:%S %z").to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use environments::{FileMetadata, ServedFileKind};

    use super::{ChecksumType, NAMES};

    #[test]
    fn checksums_are_those_of_coreutils() {
        let mut content = tempfile::NamedTempFile::new().unwrap();
        content.write_all(b"hello\n").unwrap();
        let sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        let mut file = FileMetadata {
            relative_path: String::new(),
            path: content.path().to_owned(),
            mode: 0o644,
            changed_seconds: 1_764_298_804,
            kind: ServedFileKind::File {
                sha256: sha256.parse().unwrap(),
                size_bytes: 6,
            },
        };
        for (name, expected) in [
            ("sha256", format!("{{sha256}}{sha256}")),
            ("sha256lite", format!("{{sha256lite}}{sha256}")),
            ("md5", "{md5}b1946ac92492d2347c6235b4d2611184".to_owned()),
            (
                "sha1",
                "{sha1}f572d396fae9206628714fb2ce00f72e94f2258f".to_owned(),
            ),
            ("mtime", "{mtime}2025-11-28 03:00:04 +0000".to_owned()),
            ("none", "{none}".to_owned()),
        ] {
            let wanted: ChecksumType = name.parse().unwrap();
            let open = || std::fs::File::open(content.path());
            assert_eq!(wanted.checksum(&file, open).unwrap(), expected);
        }
        file.kind = ServedFileKind::Directory;
        let of_directory = ChecksumType::Md5.checksum(&file, || unreachable!());
        assert_eq!(of_directory.unwrap(), "{ctime}2025-11-28 03:00:04 +0000");
    }

    #[test]
    fn the_first_common_type_identifies_content() {
        assert_eq!(
            ChecksumType::first_common("mtime.x.sha384.md5"),
            Some(ChecksumType::Sha384)
        );
        assert_eq!(ChecksumType::first_common("mtime.none"), None);
        for (known, name) in NAMES {
            assert_eq!(name.parse(), Ok(known));
            assert_eq!(known.as_str(), name);
        }
    }
}
