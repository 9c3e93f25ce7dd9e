function files = demo(varargin)
%DEMO  Make a head, run every stage on it, and show how close each came to the truth.
%   FILES = FIMBRIA.DEMO(NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Named:
%     output: Folder to write [default: fimbria-demo]
%     force: Compute everything again and overwrite existing outputs
%     resume: Keep the stages that an earlier run finished with the same inputs and parameters
%     voxel: Edge of the voxels of the series; those of the gradient-echo scan are half as large; the time
%     is inversely as its cube [1 to 10, mm] [default: 4]
%     rng_seed: Seed of the noise [from 0 on] [default: 1]
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
%     head: the subject and its truth, as `fimbria phantom head --gre` writes them
%     dti: the tensor maps, as `fimbria fit dti` writes them
%     quality: quality.json: verdicts on the series and the numbers they rest on
%     fod: the fibre orientation densities, as `fimbria fit fod` writes them
%     peaks: the fibre directions, as `fimbria peaks` writes them
%     sticks: samples of ball and sticks, as `fimbria sticks` writes them, after half as many jumps, in the
%     voxels with a peak
%     track: tracks.trx, visits: streamlines from those voxels, as `fimbria track` writes them
%     dki: the kurtosis maps, as `fimbria fit dki` writes them
%     life: what each streamline explains, as `fimbria life` writes it
%     field: its field, as `fimbria field` writes it
%     qsm: its susceptibility, as `fimbria qsm` writes it
%     accuracy: accuracy.tsv: quantity, unit, voxels (or streamlines), median, 95 % and worst error
%     report: report.html, one page with pictures
%     run_json: what was done; each folder has one of its own
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'output', '--output', ','
    'force', '--force', 'flag'
    'resume', '--resume', 'flag'
    'voxel', '--voxel', ','
    'rng_seed', '--rng-seed', ','
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'head', {'head'}, false
    'dti', {'dti'}, false
    'quality', {'quality'}, false
    'fod', {'fod'}, false
    'peaks', {'peaks'}, false
    'sticks', {'sticks'}, false
    'track', {'track'}, false
    'dki', {'dki'}, false
    'life', {'life'}, false
    'field', {'field'}, false
    'qsm', {'qsm'}, false
    'accuracy', {'accuracy'}, false
    'report', {'report'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('demo', options, written, 'output', 'demo', false, varargin);
end
