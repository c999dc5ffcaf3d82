//! zstd compression with one reused context per thread: creating a context costs more than
//! compressing small content.

use std::cell::RefCell;
use std::io::{self, Read as _};
use std::thread::LocalKey;

use zstd::bulk::{Compressor, Decompressor};
use zstd::stream::Decoder;

/// Compression level. Level 3 takes twice as long for source code and makes it 4 % smaller.
const ZSTD_LEVEL: i32 = 1;
/// Maximum bytes of an agent's text: hooks, requests and messages have smaller limits.
pub(crate) const MAX_TEXT_BYTES: u64 = 256 << 20;

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

pub(crate) fn zstd_compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    with_context(&COMPRESSOR, || Compressor::new(ZSTD_LEVEL), |it| it.compress(bytes))
}

/// Decompresses at most `size` bytes, whatever the header claims. A size that cannot be allocated
/// is an error: a damaged row must not abort the process.
pub(crate) fn zstd_decompress(bytes: &[u8], size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).map_err(io::Error::other)?;
    let mut content = Vec::new();
    content.try_reserve_exact(size).map_err(io::Error::other)?;
    with_context(&DECOMPRESSOR, Decompressor::new, |it| {
        it.decompress_to_buffer(bytes, &mut content)?;
        Ok(content)
    })
}

/// Decompresses content of unrecorded size, up to `most` bytes.
pub(crate) fn zstd_decompress_up_to(bytes: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    Decoder::new(bytes)?.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(content)
}

fn with_context<T>(
    context: &'static LocalKey<RefCell<Option<T>>>,
    make: impl FnOnce() -> io::Result<T>,
    act: impl FnOnce(&mut T) -> io::Result<Vec<u8>>,
) -> io::Result<Vec<u8>> {
    context.with_borrow_mut(|context| match context {
        Some(context) => act(context),
        None => act(context.insert(make()?)),
    })
}
