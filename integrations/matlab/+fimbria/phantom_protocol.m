function files = phantom_protocol(varargin)
%PHANTOM_PROTOCOL  A fixed brain under the protocol of Palombo et al.: 10 b-values up to 8000 s/mm² along 30 directions.
%   FILES = FIMBRIA.PHANTOM_PROTOCOL(NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Named:
%     law: Law that the signal of every direction follows exactly [default: kurtosis]
%     size: Number of voxels along x, y, z [default: 128,128,16]
%     voxel: Voxel size in mm [default: 0.46875,0.46875,0.75]
%     snr: Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 50]
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
%     truth_dirs: as in `fimbria phantom crossing`
%     truth_fractions: the same
%     truth_count: the same
%     truth_S0: the same [arbitrary]
%     truth_D: diffusivity of every direction [mm^2/s]
%     truth_K: with --law kurtosis: kurtosis of every direction
%     truth_MK: with --law kurtosis: mean of K
%     truth_A: with --law stretched: A of every direction [mm^2/s]
%     truth_gamma: with --law stretched: gamma of every direction
%     truth_Mgamma: with --law stretched: mean of gamma
%     run_json: parameters, machine, times
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'law', '--law', ','
    'size', '--size', ','
    'voxel', '--voxel', ','
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
    'truth_D', {'truth/D.{image}'}, false
    'truth_K', {'truth/K.{image}'}, false
    'truth_MK', {'truth/MK.{image}'}, false
    'truth_A', {'truth/A.{image}'}, false
    'truth_gamma', {'truth/gamma.{image}'}, false
    'truth_Mgamma', {'truth/Mgamma.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('phantom protocol', options, written, 'output', 'protocol', false, varargin);
end
