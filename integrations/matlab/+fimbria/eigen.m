function files = eigen(varargin)
%EIGEN  Find all real eigenpairs of symmetric tensors of any order and dimension.
%   FILES = FIMBRIA.EIGEN(TENSORS, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     tensors: File of tensors: JSON; an array of numpy, a row of unique entries each; or an image whose
%     volumes are the entries, of any order
%
%   Named:
%     mask: Voxels of an image to take [default: those that are not 0]
%     dimension: Dimension of the tensors of an array [1 to 128] [default: 3]
%     kinds: Which pairs are listed, separated by commas [default: all; maxima and minima in single
%     precision]
%     precision: Arithmetic of the search. In single precision SS-HOPM leads to maxima and minima, many
%     tensors at once, on devices too; pairs are polished in double precision [default: double]
%     tolerance: Largest residual of a pair, relative to the Frobenius norm of A (plus |λ| times that of B)
%     [above 0] [default: 0.000000000001]
%     starts: Starts to follow for each tensor [from 1 on] [default: as many as seem needed; 128 with
%     --shift and in single precision]
%     rng_seed: Seed of the random starts [from 0 on] [default: 0]
%     shift: Use the shifted power method (SS-HOPM) alone, from random starts, with this shift: maxima for 0
%     and above, minima below; `maxima` and `minima` adapt the shift in every iteration. Starts that do not
%     converge in 1000 iterations are counted
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     device: Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu,
%     gpu:0,1 or opencl:0 [default: auto]
%     device_memory: Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     file: {"tensors": [{"pairs": [{"lambda": L, "x": [...], "kind": "maximum", "residual": R}, ...]},
%     ...]}, one for each tensor of the input, in its order; of an image with "voxel": [i, j, k]
%     file_run_json: what was done
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'tensors', '', ','
    'mask', '--mask', ','
    'dimension', '--dimension', ','
    'kinds', '--kinds', ','
    'precision', '--precision', ','
    'tolerance', '--tolerance', ','
    'starts', '--starts', ','
    'rng_seed', '--rng-seed', ','
    'shift', '--shift', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'file', {''}, false
    'file_run_json', {'.run.json'}, false
  };
  files = fimbria.internal.run('eigen', options, written, 'output', '', true, varargin);
end
