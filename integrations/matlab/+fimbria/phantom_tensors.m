function files = phantom_tensors(varargin)
%PHANTOM_TENSORS  A sheet of higher-order tensors with one or two fibres per voxel.
%   FILES = FIMBRIA.PHANTOM_TENSORS(NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Named:
%     size: Number of voxels along x and y [default: 32,32]
%     order: Order of the tensors [4, 6 or 8] [default: 4]
%     angles: Crossing angles in degrees at the least and at the greatest x, linear in between [default:
%     60,90]
%     noise: Standard deviation of the noise on every entry, relative to the maximum of a single fibre [from
%     0 on] [default: 0]
%     rng_seed: Seed of fractions, tilts and noise [from 0 on] [default: 1]
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
%     hot: unique entries of the form 0.1 |g|^m + sum f_k (u_k.g)^m of the fibres u_k (15, 28 or 45 volumes
%     for order 4, 6, 8): what `fimbria peaks` reads
%     truth_dirs: x y z of two fibres, larger fraction first, 0 = none
%     truth_fractions: f of each; 1 for a single fibre, 0.4 to 0.6 for two
%     truth_count: number of fibres: 2 in the middle half of the rows, 1 elsewhere
%     truth_angle: angle between the fibres; NaN with one [degree]
%     run_json: parameters, machine, times
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'size', '--size', ','
    'order', '--order', ','
    'angles', '--angles', ','
    'noise', '--noise', ','
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
    'hot', {'hot.{image}'}, false
    'truth_dirs', {'truth/dirs.{image}'}, false
    'truth_fractions', {'truth/fractions.{image}'}, false
    'truth_count', {'truth/count.{image}'}, false
    'truth_angle', {'truth/angle.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('phantom tensors', options, written, 'output', 'tensors', false, varargin);
end
