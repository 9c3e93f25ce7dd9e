//! Where samples lie in a file: lengths and strides of the axes.

/// One axis: how many steps it has, and how many samples a step moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) len: usize,
    pub(crate) stride: isize,
}

/// The axes of a strided array in logical order (x, y, z, then up to two of volumes), first
/// fastest.
///
/// Sample (i0, i1, ...) is number `first + sum(i_k * stride_k)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) axes: Vec<Axis>,
    pub(crate) first: usize,
}

impl Layout {
    /// Samples in logical order without gaps.
    pub(crate) fn contiguous(dims: &[usize]) -> Self {
        let order: Vec<_> = (0..dims.len()).map(|rank| (rank, false)).collect();
        Self::ordered(dims, &order)
    }

    /// Samples without gaps, axes in a given order: axis `k` has rank `order[k].0` (0 varies
    /// fastest) and runs backwards where `order[k].1`. Ranks must be a permutation.
    pub(crate) fn ordered(dims: &[usize], order: &[(usize, bool)]) -> Self {
        let mut axes = vec![Axis { len: 1, stride: 1 }; dims.len()];
        let (mut stride, mut first) = (1usize, 0usize);
        for rank in 0..dims.len() {
            if let Some(k) = order.iter().position(|o| o.0 == rank) {
                let step = stride as isize;
                axes[k] = Axis { len: dims[k], stride: if order[k].1 { -step } else { step } };
                if order[k].1 {
                    first += (dims[k] - 1) * stride;
                }
                stride *= dims[k];
            }
        }
        Self { axes, first }
    }

    /// A contiguous array as a file of another order runs through it: logical axis 0 here is the
    /// axis that varies fastest in the file. The other way to look at [`ordered`](Self::ordered).
    pub(crate) fn walked(dims: &[usize], order: &[(usize, bool)]) -> Self {
        let mut axes = Vec::new();
        let mut first = 0;
        for rank in 0..dims.len() {
            for (k, _) in order.iter().enumerate().filter(|(_, o)| o.0 == rank) {
                let stride = dims[..k].iter().product::<usize>();
                let step = stride as isize;
                axes.push(Axis { len: dims[k], stride: if order[k].1 { -step } else { step } });
                if order[k].1 {
                    first += (dims[k] - 1) * stride;
                }
            }
        }
        Self { axes, first }
    }

    /// The same samples in the order of a file whose axes have the given ranks, as in
    /// [`ordered`](Self::ordered).
    pub(crate) fn reordered(&self, order: &[(usize, bool)]) -> Self {
        let mut axes = Vec::new();
        let mut first = self.first;
        for rank in 0..self.axes.len() {
            for (axis, _) in self.axes.iter().zip(order).filter(|(_, o)| o.0 == rank && !o.1) {
                axes.push(*axis);
            }
            for (axis, _) in self.axes.iter().zip(order).filter(|(_, o)| o.0 == rank && o.1) {
                first = first.wrapping_add_signed((axis.len as isize - 1) * axis.stride);
                axes.push(Axis { len: axis.len, stride: -axis.stride });
            }
        }
        Self { axes, first }
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.axes.iter().map(|a| a.len).product()
    }

    /// Number of the sample at a logical linear index of the given axes, relative to index 0.
    fn offset(axes: &[Axis], mut index: usize) -> isize {
        let mut offset = 0;
        for axis in axes {
            offset += (index % axis.len) as isize * axis.stride;
            index /= axis.len;
        }
        offset
    }

    /// Number of the sample of a voxel in volume 0.
    pub(crate) fn voxel(&self, voxel: usize) -> usize {
        self.first.wrapping_add_signed(Self::offset(&self.axes[..3], voxel))
    }

    /// What each volume adds to a voxel's sample number, in order of volumes.
    pub(crate) fn volume_offsets(&self) -> impl Iterator<Item = isize> + use<> {
        let axis = |k| self.axes.get(k).copied().unwrap_or(Axis { len: 1, stride: 0 });
        let (fast, slow) = (axis(3), axis(4));
        (0..slow.len as isize).flat_map(move |s| {
            (0..fast.len as isize).map(move |f| f * fast.stride + s * slow.stride)
        })
    }

    /// The voxels that follow each other evenly: `len` of them from every multiple of `len`.
    pub(crate) fn voxel_run(&self) -> Axis {
        self.merged(3).first().copied().unwrap_or(Axis { len: 1, stride: 1 })
    }

    /// The same samples in the same order with as few axes as possible.
    pub(crate) fn simplified(&self) -> Self {
        Self { axes: self.merged(self.axes.len()), first: self.first }
    }

    /// The first `n` axes with those of length 1 dropped and neighbours that form one long axis
    /// joined. Empty where all have length 1.
    fn merged(&self, n: usize) -> Vec<Axis> {
        let mut out: Vec<Axis> = Vec::new();
        for axis in self.axes[..n].iter().filter(|a| a.len > 1) {
            match out.last_mut() {
                Some(last) if axis.stride == last.stride * last.len as isize => {
                    last.len *= axis.len;
                }
                _ => out.push(*axis),
            }
        }
        out
    }

    /// The stride of the volumes where it is smaller than x's: the samples of a voxel are
    /// neighbours.
    pub(crate) fn volumes_together(&self) -> Option<isize> {
        let nearest = self.merged(3).first().map_or(isize::MAX, |a| a.stride.abs());
        let volumes = Self { axes: self.axes[3..].to_vec(), first: 0 };
        match volumes.merged(volumes.axes.len())[..] {
            [axis] if axis.stride.abs() < nearest => Some(axis.stride),
            _ => None,
        }
    }

    /// Calls `run(done, sample, step, count)` for runs that cover logical indices
    /// `start .. start + len` in order: `count` samples from number `sample`, `step` apart, after
    /// `done` earlier ones.
    pub(crate) fn for_each_run(
        &self,
        start: usize,
        len: usize,
        mut run: impl FnMut(usize, usize, isize, usize),
    ) {
        let Some(fastest) = self.axes.first() else {
            return run(0, self.first, 1, len);
        };
        let mut done = 0;
        while done < len {
            let index = start + done;
            let count = (fastest.len - index % fastest.len).min(len - done);
            let sample = self.first.wrapping_add_signed(Self::offset(&self.axes, index));
            run(done, sample, fastest.stride, count);
            done += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_axes_merge_into_one_run() {
        let l = Layout::contiguous(&[3, 4, 5, 2]);
        assert_eq!(l.merged(4), [Axis { len: 120, stride: 1 }]);
        assert_eq!(l.voxel_run(), Axis { len: 60, stride: 1 });
        assert_eq!(l.volumes_together(), None);
        assert_eq!(l.volume_offsets().collect::<Vec<_>>(), [0, 60]);
    }

    #[test]
    fn reversed_axes_start_at_their_end() {
        let l = Layout::ordered(&[3, 4, 5], &[(0, true), (1, true), (2, false)]);
        assert_eq!(l.first, 2 + 3 * 3);
        assert_eq!(l.voxel(0), 11);
        assert_eq!(l.voxel(1), 10);
        assert_eq!(l.voxel(3), 8);
        assert_eq!(l.voxel(12), 23);
        assert_eq!(l.voxel_run(), Axis { len: 12, stride: -1 });
    }

    #[test]
    fn volumes_first_are_recognised() {
        let l = Layout::ordered(&[3, 4, 5, 6], &[(1, false), (2, false), (3, false), (0, false)]);
        assert_eq!(l.volumes_together(), Some(1));
        assert_eq!(l.voxel(1), 6);
        assert_eq!(l.voxel_run(), Axis { len: 60, stride: 6 });
    }

    #[test]
    fn walking_an_array_and_placing_its_samples_are_inverse() {
        let dims = [3, 4, 5, 2];
        let order = [(2, true), (0, false), (3, true), (1, false)];
        let places = Layout::ordered(&dims, &order);
        let walk = Layout::walked(&dims, &order);
        for index in 0..places.len() {
            let at = |l: &Layout, i| l.first.wrapping_add_signed(Layout::offset(&l.axes, i));
            assert_eq!(at(&walk, at(&places, index)), index);
        }
    }

    #[test]
    fn reordering_a_contiguous_array_is_walking_it() {
        let dims = [3, 4, 5, 2];
        let order = [(2, true), (0, false), (3, true), (1, false)];
        assert_eq!(Layout::contiguous(&dims).reordered(&order), Layout::walked(&dims, &order));
    }

    #[test]
    fn runs_cover_every_index_once() {
        let l = Layout::ordered(&[3, 4, 5, 2], &[(2, true), (0, false), (3, true), (1, false)]);
        let mut all = Vec::new();
        l.for_each_run(7, 100, |done, sample, step, count| {
            assert_eq!(done, all.len());
            all.extend((0..count as isize).map(|i| sample.wrapping_add_signed(i * step)));
        });
        let expected: Vec<_> =
            (7..107).map(|i| l.first.wrapping_add_signed(Layout::offset(&l.axes, i))).collect();
        assert_eq!(all, expected);
    }
}
