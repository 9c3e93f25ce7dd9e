function files = peaks(varargin)
%PEAKS  Find fibre directions: the maxima of a function on the sphere in every voxel.
%   FILES = FIMBRIA.PEAKS(IMAGE, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     image: Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis,
%     where the image itself does not say so), of order 4, 6 or 8 (15, 28 or 45 volumes)
%
%   Named:
%     sh_basis: The coefficients are spherical harmonics of this basis [default: what the image says of
%     itself; unique entries where it says nothing]
%     order: Order of the tensors, or highest degree of the harmonics [from 0 on] [default: what the number
%     of volumes says]
%     frame: Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]
%     mask: Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]
%     method: What counts as a fibre direction [default: maxima]
%     fibre: What a single fibre looks like in the input [default: delta in harmonics, rank-one in unique
%     entries]
%     number: Directions of a voxel at most [1 to 32] [default: 3]
%     threshold: Least value of a direction, as a share of the voxel's largest [0 to 1] [default: 0.1]
%     absolute_threshold: Value that a direction must exceed, in units of the input [any] [default: 0]
%     separation: Of two directions nearer than this only the larger is kept [0 to 90, degrees] [default:
%     25]
%     starts: Directions of the half sphere from which the search sets out [16 to 4096] [default: 1024]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     format: Format of the maps [default: nii.gz, or mif with --layout mrtrix]
%     layout: Whose names, orders and frames to write [default: fimbria]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     device: Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu,
%     gpu:0,1 or opencl:0 [default: auto]
%     device_memory: Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
%     scratch: Folder for compressed images that exceed their share of --memory [default: the system's for
%     temporary files]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     peaks: fibre directions, x y z of each, scanner RAS axes, length = value, NaN = none
%     values: values in the fibre directions, largest first, NaN = none
%     count: number of fibre directions
%     status: 0 outside mask, 1 found, 2 none above thresholds, 3 uncertain, 4 not finite, 5 flat
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'image', '', ','
    'sh_basis', '--sh-basis', ','
    'order', '--order', ','
    'frame', '--frame', ','
    'mask', '--mask', ','
    'method', '--method', ','
    'fibre', '--fibre', ','
    'number', '--number', ','
    'threshold', '--threshold', ','
    'absolute_threshold', '--absolute-threshold', ','
    'separation', '--separation', ','
    'starts', '--starts', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'format', '--format', ','
    'layout', '--layout', ','
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'scratch', '--scratch', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'peaks', {'peaks.{image}'}, false
    'values', {'values.{image}'}, false
    'count', {'count.{image}'}, false
    'status', {'status.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('peaks', options, written, 'output', 'peaks', false, varargin);
end
