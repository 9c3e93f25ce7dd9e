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
%     phase_range: Two numbers of the phase that are a turn apart, its ends: 0 4096, -180 180 [any]
%     [default: told by the numbers, see below]
%     imaginary: The imaginary part, likewise, of images whose real part is PHASE: both are phase and
%     magnitude
%     magnitude: Magnitude, likewise: weighs voxels and echoes, gives R2* and, without --mask, the mask
%     te: Echo times [above 0, ms] [default: EchoTime of the .json beside each phase]
%     coils: Coils that were not combined: volumes, or images, are all echoes of the first, then of the
%     next. They are combined without the phase that each has at echo time 0 (MCPC-3D-S) [from 1 on]
%     [default: 1]
%     smooth_offset: Take a smooth phase at echo time 0, which the first two echoes tell, off all of them,
%     of a single coil too
%     bipolar: Odd and even echoes were read in opposite directions (true or false): the ramp by which they
%     differ is taken off [default: told by the phase, from three echoes on]
%     b0: Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json beside the
%     phase]
%     relative: Neither echo times nor B0 are known: fields are in radians of the phase of the first echo
%     b0_dir: Direction of B0 in scanner axes [any] [default: 0 0 1]
%     b0_dir_vox: Direction of B0 in voxel axes [any]
%     phase_sign: Sign of the phase along B0 beside a paramagnetic source [1 or -1] [default: 1]
%     mask: Voxels to work on: a 3-D image on the same grid, inside where above zero [default: what is
%     bright in the first magnitude]
%     unwrap: How wraps are undone [default: region]
%     offset: Fit the phase at echo time 0 (true) or take it as 0 (false) [default: true from three echoes
%     on]
%     mask_quality: Leave voxels whose phase is less reliable out of the mask, see the map quality [0 to 1]
%     [default: none is left out]
%     background: How the background is removed [default: lbv]
%     radius: Largest radius of the spherical means [above 0, mm] [default: 12]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     format: Format of the maps [default: nii.gz, or mif with --layout mrtrix]
%     layout: Whose names, orders and frames to write [default: fimbria]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     total_field: field of all sources relative to B0, ppm, positive along B0 beside a paramagnetic source
%     [ppm]
%     local_field: field of the sources inside the mask relative to B0, ppm [ppm]
%     mask: 1 where the local field is known
%     quality: how reliable the phase is, 0 to 1: the mean over a voxel's steps to neighbours, as ROMEO
%     weights: with --magnitude or --imaginary: how surely the field is known: 1 / its standard deviation,
%     its median 1, at most 2
%     r2star: with --magnitude or --imaginary of two echoes or more: R2*, rate of decay of the magnitude
%     [1/s]
%     local_field_json: B0 and the echo time in which the field turned the phase, for `fimbria qsm`
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'phase', '', ' '
    'phase_range', '--phase-range', ' '
    'imaginary', '--imaginary', ' '
    'magnitude', '--magnitude', ' '
    'te', '--te', ','
    'coils', '--coils', ','
    'smooth_offset', '--smooth-offset', 'flag'
    'bipolar', '--bipolar', ','
    'b0', '--b0', ','
    'relative', '--relative', 'flag'
    'b0_dir', '--b0-dir', ' '
    'b0_dir_vox', '--b0-dir-vox', ' '
    'phase_sign', '--phase-sign', ','
    'mask', '--mask', ','
    'unwrap', '--unwrap', ','
    'offset', '--offset', ','
    'mask_quality', '--mask-quality', ','
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
    'quality', {'quality.{image}'}, false
    'weights', {'weights.{image}'}, false
    'r2star', {'r2star.{image}'}, false
    'local_field_json', {'local_field.json'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('field', options, written, 'output', 'field', false, varargin);
end
