function files = phantom_crossing(varargin)
%PHANTOM_CROSSING  A head with bundles that run straight, bend, and cross at 30 to 90 degrees.
%   FILES = FIMBRIA.PHANTOM_CROSSING(NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Named:
%     size: Number of voxels along x, y, z [default: 60,72,56]
%     voxel: Voxel size in mm [default: 2.5]
%     tilt: Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]
%     x_left_to_right: Store x from left to right (det(affine) > 0) instead of right to left
%     b0s: Number of unweighted volumes [from 0 on] [default: 6]
%     shells: Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]
%     snr: Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 30]
%     rng_seed: Seed of the noise [from 0 on] [default: 1]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     format: Format of the images [default: nii.gz]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     dwi: the series [arbitrary]
%     dwi_bval: in all formats but .mif, whose header has it: b of every volume, s/mm²
%     dwi_bvec: likewise: direction of every volume
%     mask: voxels at least half of which are brain
%     truth_dirs: x y z of up to three fibres, largest fraction first, 0 = none
%     truth_fractions: signal fractions at b = 0 of three fibres, grey matter, fluid
%     truth_count: number of fibres
%     truth_S0: signal without weighting and noise [arbitrary]
%     truth_angle: angle between the two largest fibres; NaN with fewer than two [degree]
%     truth_FA: of voxels of a single compartment; NaN elsewhere
%     truth_MD: the same [mm^2/s]
%     truth_V1: direction in voxels of a single fibre; NaN elsewhere
%     truth_MK: mean kurtosis of the mixture at b = 0; 0 outside the mask
%     truth_tracts_trx: streamlines 3 mm apart, a group for each bundle, and as groups false01, false02 and
%     so on connections that are not there, for `fimbria life` to find
%     run_json: parameters, machine, times
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'size', '--size', ','
    'voxel', '--voxel', ','
    'tilt', '--tilt', ','
    'x_left_to_right', '--x-left-to-right', 'flag'
    'b0s', '--b0s', ','
    'shells', '--shells', ','
    'snr', '--snr', ','
    'rng_seed', '--rng-seed', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'format', '--format', ','
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'dwi', {'dwi.{image}'}, false
    'dwi_bval', {'dwi.bval'}, false
    'dwi_bvec', {'dwi.bvec'}, false
    'mask', {'mask.{image}'}, false
    'truth_dirs', {'truth/dirs.{image}'}, false
    'truth_fractions', {'truth/fractions.{image}'}, false
    'truth_count', {'truth/count.{image}'}, false
    'truth_S0', {'truth/S0.{image}'}, false
    'truth_angle', {'truth/angle.{image}'}, false
    'truth_FA', {'truth/FA.{image}'}, false
    'truth_MD', {'truth/MD.{image}'}, false
    'truth_V1', {'truth/V1.{image}'}, false
    'truth_MK', {'truth/MK.{image}'}, false
    'truth_tracts_trx', {'truth/tracts.trx'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('phantom crossing', options, written, 'output', 'crossing', false, varargin);
end
