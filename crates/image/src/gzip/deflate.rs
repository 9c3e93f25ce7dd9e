//! Writing one gzip member on all cores.
//!
//! The data are cut into blocks of a fixed size, compressed at the same time, each with the end of
//! the block before as its dictionary, ended by a sync flush and concatenated: Mark Adler's scheme
//! in pigz. One member, because readers exist that stop after the first of several. The bytes do
//! not depend on the number of threads.

use std::io::{self, Write};

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

use crate::blocks::in_order;

/// Uncompressed bytes per block; a multiple of 64, so that blocks hold whole samples.
pub(crate) const BLOCK_BYTES: usize = 512 << 10;

/// How far deflate looks back.
const WINDOW_BYTES: usize = 32 << 10;

/// A compressed block and the checksum of what it holds.
struct Block {
    deflated: Vec<u8>,
    crc: Crc,
}

/// Writes `header` followed by blocks `0 .. n_blocks` of data as one gzip member.
///
/// `data(from, to)` gives the data bytes of that range (after the header); `n_bytes` is where they
/// end. It is called from several threads.
pub(crate) fn write_member(
    out: &mut (impl Write + Send),
    level: u32,
    header: &[u8],
    n_bytes: usize,
    data: impl Fn(usize, usize) -> Vec<u8> + Sync,
) -> io::Result<()> {
    // Deflate, no name, no time, "unknown" system: the same bytes everywhere.
    out.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])?;
    let n_blocks = n_bytes.div_ceil(BLOCK_BYTES);
    let first = deflate(level, &[], header, n_blocks == 0)?;
    out.write_all(&first.deflated)?;
    let mut crc = first.crc;

    let compress = |block: usize| {
        let start = block * BLOCK_BYTES;
        let end = (start + BLOCK_BYTES).min(n_bytes);
        let from = start.saturating_sub(WINDOW_BYTES);
        let bytes = data(from, end);
        let (window, bytes) = bytes.split_at(start - from);
        deflate(level, window, bytes, block + 1 == n_blocks)
    };
    in_order(n_blocks, compress, |block: io::Result<Block>| {
        let block = block?;
        crc.combine(&block.crc);
        out.write_all(&block.deflated)
    })?;
    out.write_all(&crc.sum().to_le_bytes())?;
    out.write_all(&crc.amount().to_le_bytes())
}

fn deflate(level: u32, window: &[u8], bytes: &[u8], last: bool) -> io::Result<Block> {
    let mut crc = Crc::new();
    crc.update(bytes);
    let mut compress = Compress::new(Compression::new(level), false);
    if !window.is_empty() && level > 0 {
        // A dictionary that is refused costs a little size, nothing else.
        let _ = compress.set_dictionary(window);
    }
    let flush = if last { FlushCompress::Finish } else { FlushCompress::Sync };
    let mut deflated = Vec::with_capacity(bytes.len() / 2 + 1024);
    loop {
        let done = compress.total_in() as usize;
        let status = compress.compress_vec(&bytes[done..], &mut deflated, flush)?;
        let finished = match status {
            Status::StreamEnd => true,
            // A sync flush is complete once output space is left over.
            _ => !last && deflated.len() < deflated.capacity(),
        };
        if finished && compress.total_in() as usize == bytes.len() {
            return Ok(Block { deflated, crc });
        }
        deflated.reserve(deflated.capacity().max(1024));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gzip::inflate_exact;

    fn data(n: usize) -> Vec<u8> {
        (0..n).map(|i| ((i * 2_654_435_761) >> 13) as u8 & 31).collect()
    }

    fn member(level: u32, header: &[u8], data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write_member(&mut out, level, header, data.len(), |a, b| data[a..b].to_vec()).unwrap();
        out
    }

    #[test]
    fn every_level_inflates_to_what_went_in() {
        let body = data(2 * BLOCK_BYTES + 12_345);
        for level in 0..=9 {
            let gzip = member(level, b"header", &body);
            let mut back = vec![0; 6 + body.len()];
            // libdeflate reads one member only: that it is one is part of the test.
            let n = libdeflater::Decompressor::new().gzip_decompress(&gzip, &mut back);
            assert_eq!(n, Ok(back.len()), "level {level}");
            assert_eq!((&back[..6], &back[6..]), (&b"header"[..], &body[..]), "level {level}");
        }
    }

    #[test]
    fn bytes_do_not_depend_on_threads() {
        let body = data(9 * BLOCK_BYTES + 1);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| member(4, b"header", &body))
        };
        let one = with(1);
        assert_eq!(one, with(2));
        assert_eq!(one, with(5));
    }

    #[test]
    fn data_that_cannot_be_compressed_and_none_at_all_are_written() {
        let mut state = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(BLOCK_BYTES + 77)
        .collect();
        for body in [&noise[..], &[]] {
            let gzip = member(6, b"h", body);
            let mut back = vec![0; 1 + body.len()];
            inflate_exact(&gzip, &mut back).unwrap();
            assert_eq!(&back[1..], body);
        }
    }
}
