//! D and V along directions, of as many voxels or directions as a register has lanes.

use fimbria_compute::{Lanes, Real as _};
use pulp::Simd;

use crate::dki::constraints::N_FORMS;
use crate::dki::form::{N_D, QUADRATIC_TIMES, QUARTIC_TIMES};

/// Multiplies the unique entries of D and V by how many of the full tensors each stands for.
#[inline(always)]
pub(super) fn multiply_by_times<S: Simd>(forms: &mut [Lanes<S>; N_FORMS]) {
    for k in 0..N_D {
        forms[k] = forms[k] * QUADRATIC_TIMES[k];
    }
    for k in N_D..N_FORMS {
        forms[k] = forms[k] * QUARTIC_TIMES[k - N_D];
    }
}

/// D(n) and V(n), from entries of both forms [times](multiply_by_times) their number and the
/// products xx xy xz yy yz zz of the direction, lane by lane.
///
/// V is taken apart by the squares: xx times what begins with xx, yy times what then holds yy, and
/// zz times the rest. So six numbers say all of a direction, and those of hundreds stay in the
/// first cache.
#[inline(always)]
pub(super) fn along<S: Simd>(
    forms: &[Lanes<S>; N_FORMS],
    products: &[Lanes<S>; N_D],
) -> (Lanes<S>, Lanes<S>) {
    let [xx, xy, xz, yy, yz, zz] = *products;
    let [d_xx, d_xy, d_xz, d_yy, d_yz, d_zz, v @ ..] = *forms;
    let d = d_zz.mul_add(zz, d_yz.mul_add(yz, d_yy * yy));
    let d = d_xz.mul_add(xz, d_xy.mul_add(xy, d_xx.mul_add(xx, d)));
    // 1111 1112 1113 1122 1123 1133
    let with_xx = v[5].mul_add(zz, v[4].mul_add(yz, v[3] * yy));
    let with_xx = v[2].mul_add(xz, v[1].mul_add(xy, v[0].mul_add(xx, with_xx)));
    // 1222 1223 2222 2223 2233
    let with_yy = v[10].mul_add(yy, v[7].mul_add(xz, v[6] * xy));
    let with_yy = v[12].mul_add(zz, v[11].mul_add(yz, with_yy));
    // 1233 1333 2333 3333
    let with_zz = v[13].mul_add(yz, v[9].mul_add(xz, v[8] * xy));
    let with_zz = v[14].mul_add(zz, with_zz);
    (d, zz.mul_add(with_zz, yy.mul_add(with_yy, xx * with_xx)))
}
