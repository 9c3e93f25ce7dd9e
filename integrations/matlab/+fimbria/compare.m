function files = compare(varargin)
%COMPARE  Test two sets of maps against each other, voxel by voxel.
%   FILES = FIMBRIA.COMPARE(FIRST, SECOND, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     first: Maps of repeated runs, two or more with different seeds
%     second: The other set, after --: two or more as well
%
%   Named:
%     threshold: Mean value from which voxels take part [any] [default: 20]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     z: difference of the means over its standard error, B - A; 0 below the threshold
%     run_json: voxels tested, mean and largest |z|, Q = mean of z squared, the sums of both, p: in which
%     share of all ways to split the runs into two sets Q is as large, and what follows
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'first', '', ' '
    'second', '', ' '
    'threshold', '--threshold', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'z', {'z.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('compare', options, written, 'output', 'compare', false, varargin);
end
