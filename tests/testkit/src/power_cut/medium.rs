//! The medium of a disk with a volatile write cache: [`Medium`].
//!
//! It does no I/O.
//!
//! Invariant: a flushed sector is never lost; of the writes since the last flush, [`Survivors`]
//! decides which ones a power cut leaves, sector by sector and in any order.

use std::collections::HashMap;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// The unit that a disk writes completely or not at all, in bytes: the size of ext4's superblock,
/// and the file system's block. With 512, a cut can tear the superblock, whose checksum the kernel
/// compares before it replays the journal; then the disk cannot be mounted until e2fsck has run,
/// whatever was written to it. Disks of 4,096 bytes tear less than this one.
pub const SECTOR_BYTES: usize = 1024;

/// The unit of storage in memory, in bytes: pages of the kernel, so that most writes replace whole
/// ones.
const BLOCK_BYTES: usize = 4096;

/// Number of unflushed bytes at which the drive empties its cache by itself, as real ones do: 64
/// MiB.
const CACHE_BYTES: usize = 64 << 20;

/// All blocks ever written, by their numbers; all others are zeros.
type Blocks = HashMap<u64, Arc<[u8; BLOCK_BYTES]>>;

/// A disk's content: the durable part, and the writes in its cache.
#[derive(Clone, Debug, Default)]
pub struct Medium {
    durable: Blocks,
    /// The durable content with every cached write applied, which reads return.
    view: Blocks,
    /// Writes since the last flush, in their order.
    cache: Vec<CachedWrite>,
    cached_bytes: usize,
}

#[derive(Clone, Debug)]
struct CachedWrite {
    offset: u64,
    bytes: Arc<[u8]>,
}

/// The unflushed writes that a power cut leaves on the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Survivors {
    /// No unflushed write survives.
    None,
    /// All unflushed writes survive: a crash of the operating system with an intact disk.
    All,
    /// The first writes survive, this fraction of them: a disk that writes in order.
    First(f64),
    /// Each write survives with this probability, so later ones may survive without earlier ones.
    Writes(f64),
    /// Each sector of each write survives with this probability, so writes are torn.
    Sectors(f64),
}

// === impl Survivors ===

impl Survivors {
    /// The choice for a seed; all kinds occur.
    pub fn of_seed(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let share = random.random_range(0.05..0.95);
        match random.random_range(0..8) {
            0 => Self::None,
            1 => Self::All,
            2 => Self::First(share),
            3 | 4 => Self::Writes(share),
            _ => Self::Sectors(share),
        }
    }
}

// === impl Medium ===

impl Medium {
    /// Writes into the cache.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        put(&mut self.view, offset, bytes);
        self.cache.push(CachedWrite {
            offset,
            bytes: bytes.into(),
        });
        self.cached_bytes += bytes.len();
        if self.cached_bytes > CACHE_BYTES {
            self.flush();
        }
    }

    /// Makes all cached writes durable.
    pub fn flush(&mut self) {
        for write in self.cache.drain(..) {
            let end = write.offset + write.bytes.len() as u64;
            for number in write.offset / BLOCK_BYTES as u64..end.div_ceil(BLOCK_BYTES as u64) {
                if let Some(block) = self.view.get(&number) {
                    self.durable.insert(number, Arc::clone(block));
                }
            }
        }
        self.cached_bytes = 0;
    }

    /// Reads the content as a running machine sees it.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let (number, within) = split(offset + done as u64);
            let length = (BLOCK_BYTES - within).min(bytes.len() - done);
            let part = &mut bytes[done..done + length];
            match self.view.get(&number) {
                Some(block) => part.copy_from_slice(&block[within..within + length]),
                None => part.fill(0),
            }
            done += length;
        }
    }

    /// Number of writes that are not flushed.
    pub fn unflushed(&self) -> usize {
        self.cache.len()
    }

    /// The disk after a power cut.
    #[must_use]
    pub fn cut(&self, survivors: Survivors, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut durable = self.durable.clone();
        let count = self.cache.len() as f64;
        for (index, write) in self.cache.iter().enumerate() {
            let mut keep = |offset: u64, bytes: &[u8], share: f64| {
                if random.random_bool(share) {
                    put(&mut durable, offset, bytes);
                }
            };
            match survivors {
                Survivors::None => {}
                Survivors::All => keep(write.offset, &write.bytes, 1.0),
                Survivors::First(share) if (index as f64) < share * count => {
                    keep(write.offset, &write.bytes, 1.0);
                }
                Survivors::First(_) => {}
                Survivors::Writes(share) => keep(write.offset, &write.bytes, share),
                Survivors::Sectors(share) => {
                    for (offset, bytes) in sectors(write) {
                        keep(offset, bytes, share);
                    }
                }
            }
        }
        Self {
            view: durable.clone(),
            durable,
            ..Self::default()
        }
    }
}

/// The parts of a write that fall into one sector each, with their offsets.
fn sectors(write: &CachedWrite) -> impl Iterator<Item = (u64, &[u8])> {
    let within = (write.offset % SECTOR_BYTES as u64) as usize;
    let first = (SECTOR_BYTES - within).min(write.bytes.len());
    let (head, rest) = write.bytes.split_at(first);
    let mut offset = write.offset;
    let parts = std::iter::once(head).chain(rest.chunks(SECTOR_BYTES));
    parts.map(move |bytes| {
        let at = offset;
        offset += bytes.len() as u64;
        (at, bytes)
    })
}

fn put(blocks: &mut Blocks, offset: u64, bytes: &[u8]) {
    let mut done = 0;
    while done < bytes.len() {
        let (number, within) = split(offset + done as u64);
        let length = (BLOCK_BYTES - within).min(bytes.len() - done);
        let block = blocks
            .entry(number)
            .or_insert_with(|| Arc::new([0; BLOCK_BYTES]));
        let block = Arc::make_mut(block);
        block[within..within + length].copy_from_slice(&bytes[done..done + length]);
        done += length;
    }
}

/// The number of an offset's block, and the offset in it.
fn split(offset: u64) -> (u64, usize) {
    let block_bytes = BLOCK_BYTES as u64;
    (offset / block_bytes, (offset % block_bytes) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(medium: &Medium, number: u64) -> u8 {
        let mut bytes = [0; SECTOR_BYTES];
        medium.read(number * SECTOR_BYTES as u64, &mut bytes);
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "torn");
        bytes[0]
    }

    #[test]
    fn flushed_sectors_stay_and_others_may_go() {
        let mut medium = Medium::default();
        medium.write(0, &[1; 10 * SECTOR_BYTES]);
        medium.flush();
        medium.write(5 * SECTOR_BYTES as u64, &[2; 10 * SECTOR_BYTES]);
        medium.write(9 * SECTOR_BYTES as u64, &[3; SECTOR_BYTES]);
        assert_eq!((sector(&medium, 4), sector(&medium, 9)), (1, 3));
        let none = medium.cut(Survivors::None, 0);
        assert_eq!((sector(&none, 9), sector(&none, 12)), (1, 0));
        let all = medium.cut(Survivors::All, 0);
        assert_eq!((sector(&all, 9), sector(&all, 12)), (3, 2));
        let first = medium.cut(Survivors::First(0.5), 0);
        assert_eq!((sector(&first, 9), sector(&first, 12)), (2, 2));
        let mut seen = [false; 4];
        for seed in 0..100 {
            let cut = medium.cut(Survivors::Sectors(0.5), seed);
            assert!((0..5).all(|number| sector(&cut, number) == 1));
            seen[usize::from(sector(&cut, 9))] = true;
            assert_eq!(cut.unflushed(), 0);
        }
        // The sector that was written twice has each of its three states in some outcome.
        assert_eq!(seen, [false, true, true, true]);
        medium.flush();
        assert_eq!(sector(&medium.cut(Survivors::None, 0), 9), 3);
    }

    #[test]
    fn a_full_cache_empties_itself() {
        let mut medium = Medium::default();
        let megabyte = vec![7; 1 << 20];
        for number in 0..=64 {
            medium.write(number << 20, &megabyte);
        }
        assert_eq!(medium.unflushed(), 0);
    }

    #[test]
    fn seeds_reach_every_kind() {
        let mut seen: Vec<String> = (0..200)
            .map(|seed| format!("{:?}", Survivors::of_seed(seed)))
            .map(|shown| shown.split('(').next().unwrap().to_owned())
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, ["All", "First", "None", "Sectors", "Writes"]);
    }
}
