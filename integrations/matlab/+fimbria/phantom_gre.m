function files = phantom_gre(varargin)
%PHANTOM_GRE  The head of `phantom crossing` in a gradient-echo scan: phase and magnitude of a known field.
%   FILES = FIMBRIA.PHANTOM_GRE(NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Named:
%     size: Number of voxels along x, y, z [default: 60,72,56]
%     voxel: Voxel size in mm [default: 2.5]
%     tilt: Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]
%     x_left_to_right: Store x from left to right (det(affine) > 0) instead of right to left
%     te: Echo times [above 0, ms] [default: 4 12 20 28]
%     b0: Strength of B0; it is along scanner z [above 0, up to 30, tesla] [default: 3]
%     fibre: Mean susceptibility of fibres relative to fluid [any, ppm] [default: -0.03]
%     anisotropy: Susceptibility along fibres less that across them [any, ppm] [default: 0.012]
%     grey: Susceptibility of grey matter relative to fluid [any, ppm] [default: 0.02]
%     air: Susceptibility of the air below the brain; 0 for no background [any, ppm] [default: 9.4]
%     finer: Make the field on a grid as many times finer along each axis [1 to 4] [default: 2]
%     snr: White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise
%     [default: 100]
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
%     phase: phase of every echo, wrapped [rad]
%     phase_json: echo times and B0
%     magnitude: magnitude of every echo [arbitrary]
%     mask: voxels at least half of which are brain
%     truth_chi: mean of the susceptibility tensor, 0 outside the mask [ppm]
%     truth_local_field: field of what is in the head [ppm]
%     truth_total_field: the same with the air below it [ppm]
%     truth_fibre: direction of the largest fibre, as long as its fraction: what `fimbria qsm --v1` takes
%     run_json: parameters, machine, times
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'size', '--size', ','
    'voxel', '--voxel', ','
    'tilt', '--tilt', ','
    'x_left_to_right', '--x-left-to-right', 'flag'
    'te', '--te', ' '
    'b0', '--b0', ','
    'fibre', '--fibre', ','
    'anisotropy', '--anisotropy', ','
    'grey', '--grey', ','
    'air', '--air', ','
    'finer', '--finer', ','
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
    'phase', {'phase.{image}'}, false
    'phase_json', {'phase.json'}, false
    'magnitude', {'magnitude.{image}'}, false
    'mask', {'mask.{image}'}, false
    'truth_chi', {'truth/chi.{image}'}, false
    'truth_local_field', {'truth/local_field.{image}'}, false
    'truth_total_field', {'truth/total_field.{image}'}, false
    'truth_fibre', {'truth/fibre.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('phantom gre', options, written, 'output', 'gre', false, varargin);
end
