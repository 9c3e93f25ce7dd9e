//! What a card tells of products comes into one place, locked for it, by the log of a card that does nothing.
#![cfg(target_os = "linux")]

use fimbria_compute::device::DeviceOptions;
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_testing::{asked, count};

use super::numbers;
use crate::product::DealtProduct;
use crate::testing::Planted;
use crate::{EncodeOptions, Rank};

#[test]
fn sums_come_into_memory_that_is_locked_once() {
    let calls = asked("life-locked", "none", 0.0, &DeviceOptions::default(), |device| {
        let workers = Workers::new(2).unwrap();
        let system = Planted::new(300, &EncodeOptions::default(), 3.0).system(Rank::Full, &workers);
        let on = Backend::new(&workers, std::slice::from_ref(device));
        let mut product =
            DealtProduct::new(&system.blocks, &system.dictionary, &system.data, &on, &Silent);
        let some: Vec<bool> = (0..300).map(|f| f % 3 != 1).collect();
        for kept in [None, Some(&some[..]), None] {
            product.restrict(kept);
            let n = product.domain().len();
            let (x, mut g) = (numbers(1, n), vec![0.0; n]);
            // The first tells squares of blocks, too.
            product.gradient(&x, &system.data, &mut g).unwrap();
            product.adjoint(&numbers(2, product.range().len()), &mut g).unwrap();
        }
        let shares = product.shares();
        assert!(shares.cpu == 0 && shares.devices[0] > 0, "{shares:?}");
    });
    let Some(calls) = calls else { return };
    assert_eq!((count(&calls, "lock"), count(&calls, "unlock")), (1, 1), "{calls:?}");
    let told = calls.iter().filter(|call| call.what == "download" && call.is_locked).count();
    // Twice where the sums are made once more on the lattice of all.
    assert!(told >= 6, "{told}: {calls:?}");
}
