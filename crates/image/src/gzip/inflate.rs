//! Reading gzip.
//!
//! The fast path is libdeflate on a whole member, straight into the final buffer. Everything else
//! (several members, more data than expected, damage) goes through a streaming decoder, which
//! also finds the words for what is wrong.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;

/// Deflate cannot expand by more than this: 258 bytes from two bits.
const LARGEST_RATIO: u64 = 1032;

/// Why data could not be inflated.
#[derive(Debug)]
pub(crate) enum InflateError {
    /// They end after this many bytes of output.
    Truncated { found: u64 },
    /// They are no gzip data, or their checksum is wrong.
    Corrupt { reason: String },
}

/// True where the bytes begin a gzip member.
pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b, 8])
}

/// True where `compressed` bytes of gzip could hold `needed` bytes.
pub(crate) fn is_plausible(compressed: u64, needed: u64) -> bool {
    compressed.saturating_mul(LARGEST_RATIO) >= needed
}

/// Fills `out` with the first `out.len()` bytes of the data, and checks the checksum of all.
///
/// Whatever follows the last member and is no gzip (filling, mostly) is ignored.
pub(crate) fn inflate_exact(gzip: &[u8], out: &mut [u8]) -> Result<(), InflateError> {
    let whole = libdeflater::Decompressor::new().gzip_decompress(gzip, out);
    if whole == Ok(out.len()) {
        return Ok(());
    }
    let mut members = Members::new(gzip);
    let mut found = 0;
    while found < out.len() {
        match members.read(&mut out[found..]) {
            Ok(0) => return Err(InflateError::Truncated { found: found as u64 }),
            Ok(n) => found += n,
            Err(e) => return Err(why(&e, found as u64)),
        }
    }
    members.check_rest(found as u64)
}

/// Says what an error of [`Members`] means after `found` bytes of output.
pub(crate) fn why(error: &io::Error, found: u64) -> InflateError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        InflateError::Truncated { found }
    } else {
        InflateError::Corrupt { reason: error.to_string() }
    }
}

/// The data of all members of a gzip file as one stream. Stops at what is no member.
pub(crate) struct Members<'a> {
    member: GzDecoder<&'a [u8]>,
}

impl<'a> Members<'a> {
    pub(crate) fn new(gzip: &'a [u8]) -> Self {
        Self { member: GzDecoder::new(gzip) }
    }

    /// Reads on to the end, so that every checksum is compared.
    pub(crate) fn check_rest(mut self, found: u64) -> Result<(), InflateError> {
        io::copy(&mut self, &mut io::sink()).map(|_| ()).map_err(|e| why(&e, found))
    }
}

impl Read for Members<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.member.read(out)?;
            let rest = *self.member.get_ref();
            if n > 0 || out.is_empty() || !is_gzip(rest) {
                return Ok(n);
            }
            self.member = GzDecoder::new(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn member(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn data(n: usize) -> Vec<u8> {
        (0..n).map(|i| (i * i / 7) as u8).collect()
    }

    fn inflated(gzip: &[u8], n: usize) -> Result<Vec<u8>, InflateError> {
        let mut out = vec![0; n];
        inflate_exact(gzip, &mut out).map(|()| out)
    }

    #[test]
    fn members_are_joined() {
        let all = data(3000);
        let gzip = [member(&all[..1000]), member(&[]), member(&all[1000..])].concat();
        assert_eq!(inflated(&gzip, 3000).unwrap(), all);
    }

    #[test]
    fn trailing_bytes_that_are_no_gzip_are_ignored() {
        let all = data(3000);
        let one = [member(&all), vec![0; 512]].concat();
        assert_eq!(inflated(&one, 3000).unwrap(), all);
        let two = [member(&all[..7]), member(&all[7..]), b"garbage".to_vec()].concat();
        assert_eq!(inflated(&two, 3000).unwrap(), all);
    }

    #[test]
    fn more_data_than_asked_for_are_ignored_but_checked() {
        let all = data(3000);
        let mut gzip = member(&all);
        assert_eq!(inflated(&gzip, 2000).unwrap(), all[..2000]);
        let crc = gzip.len() - 8;
        gzip[crc] ^= 1;
        assert!(matches!(inflated(&gzip, 2000), Err(InflateError::Corrupt { .. })));
    }

    #[test]
    fn truncation_says_how_much_was_there() {
        let all = data(100_000);
        let gzip = member(&all);
        let cut = inflated(&gzip[..gzip.len() / 2], all.len());
        let Err(InflateError::Truncated { found }) = cut else { panic!("{cut:?}") };
        assert!(found > 0 && found < all.len() as u64);
        let short = inflated(&gzip, all.len() + 1);
        assert!(matches!(short, Err(InflateError::Truncated { found: 100_000 })), "{short:?}");
    }

    #[test]
    fn a_changed_bit_is_found() {
        let all = data(100_000);
        let whole = member(&all);
        for at in [12, whole.len() / 2, whole.len() - 6] {
            let mut gzip = whole.clone();
            gzip[at] ^= 4;
            assert!(inflated(&gzip, all.len()).is_err(), "byte {at}");
        }
    }
}
