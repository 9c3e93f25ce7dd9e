//! Work in blocks: made on all threads, used up in order, few held at once.

use rayon::prelude::*;

/// Calls `produce(0)`, `produce(1)`, ... on the threads of the current pool and `consume` with
/// their results in order. While one batch of blocks is made, the batch before is consumed; two
/// batches of four blocks per thread are the most that is held.
///
/// # Errors
/// The first error of `consume`; blocks after it are not consumed.
pub(crate) fn in_order<T: Send, E: Send>(
    n_blocks: usize,
    produce: impl Fn(usize) -> T + Sync,
    mut consume: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let batch = 4 * rayon::current_num_threads();
    let mut ready: Vec<T> = Vec::new();
    let mut from = 0;
    loop {
        let to = (from + batch).min(n_blocks);
        let (next, used) = rayon::join(
            || (from..to).into_par_iter().map(&produce).collect::<Vec<_>>(),
            || ready.drain(..).try_for_each(&mut consume),
        );
        used?;
        if next.is_empty() {
            return Ok(());
        }
        ready = next;
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_in_order_whatever_the_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let mut seen = Vec::new();
        let result: Result<(), ()> = pool.install(|| {
            in_order(
                101,
                |i| i * i,
                |square| {
                    seen.push(square);
                    Ok(())
                },
            )
        });
        assert_eq!(result, Ok(()));
        assert_eq!(seen, (0..101).map(|i| i * i).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_the_work() {
        let mut seen = 0;
        let result = in_order(
            1000,
            |i| i,
            |i| {
                seen += 1;
                if i == 3 { Err("full") } else { Ok(()) }
            },
        );
        assert_eq!((result, seen), (Err("full"), 4));
    }
}
