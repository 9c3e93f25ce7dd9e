function files = field(varargin)
%FIELD  Make a local field of the phase of a gradient-echo scan, for `fimbria qsm`.
%   FILES = FIMBRIA.FIELD(PHASE, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     phase: Phase in any scaling: an image with a volume for each echo, or an image for each
%
%   Named:
%     phase_range: Two numbers of the phase that are a turn apart, its ends: 0 4096, -180 180 [default: told
%     by the numbers, see below]
%     magnitude: Magnitude, likewise: weighs voxels and echoes, gives R2* and, without --mask, the mask
%     te: Echo times [above 0, ms] [default: EchoTime of the .json beside each phase]
%     b0: Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json beside the
%     phase]
%     b0_dir: Direction of B0 in scanner axes [default: 0 0 1]
%     b0_dir_vox: Direction of B0 in voxel axes
%     phase_sign: Sign of the phase along B0 beside a paramagnetic source: 1 or -1 [default: 1]
%     mask: Voxels to work on: a 3-D image on the same grid, inside where above zero [default: what is
%     bright in the first magnitude]
%     unwrap: How wraps are undone [default: region]
%     offset: Fit the phase at echo time 0 (true) or take it as 0 (false) [default: true from three echoes
%     on]
%     background: How the background is removed [default: vsharp]
%     radius: Largest radius of the spherical means [above 0, mm] [default: 12]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     format: Format of the maps [default: nii.gz, or mif with --layout mrtrix]
%     layout: Whose names, orders and frames to write [default: fimbria]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [default: 0]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     total_field: field of all sources relative to B0, ppm, positive along B0 beside a paramagnetic source
%     [ppm]
%     local_field: field of the sources inside the mask relative to B0, ppm [ppm]
%     mask: 1 where the local field is known
%     weights: with --magnitude: how surely the field is known: 1 / its standard deviation, its median 1, at
%     most 2
%     r2star: with --magnitude of two echoes or more: R2*, rate of decay of the magnitude [1/s]
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'phase', '', ' '
    'phase_range', '--phase-range', ' '
    'magnitude', '--magnitude', ' '
    'te', '--te', ','
    'b0', '--b0', ','
    'b0_dir', '--b0-dir', ' '
    'b0_dir_vox', '--b0-dir-vox', ' '
    'phase_sign', '--phase-sign', ','
    'mask', '--mask', ','
    'unwrap', '--unwrap', ','
    'offset', '--offset', ','
    'background', '--background', ','
    'radius', '--radius', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'format', '--format', ','
    'layout', '--layout', ','
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'total_field', {'total_field.{image}'}, false
    'local_field', {'local_field.{image}'}, false
    'mask', {'mask.{image}'}, false
    'weights', {'weights.{image}'}, false
    'r2star', {'r2star.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('field', options, written, 'output', 'field', false, varargin);
end
