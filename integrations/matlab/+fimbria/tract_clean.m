function files = tract_clean(varargin)
%TRACT_CLEAN  Take streamlines out of a bundle that stray from its core or are too long.
%   FILES = FIMBRIA.TRACT_CLEAN(BUNDLE, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     bundle: Streamlines of one bundle: .tck, .trk, .trx or a TRX folder
%
%   Named:
%     distance: Leave out what is farther than this from the core at any point [above 0, standard
%     deviations] [default: 5]
%     length: Leave out what is longer than the mean by more than this [above 0, standard deviations]
%     [default: 4]
%     points: Points along each streamline at which it is judged [2 to 10000] [default: 100]
%     weights: Weight of each streamline, by which core and spread are found: a text file of numbers, or the
%     name of the tractogram's own data [default: 1 each]
%     reference: Image whose grid .trk and .trx name [default: the one that the input names]
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
%     file: the bundle without outliers: .tck, .trk, .trx
%     file_weights_txt: where --weights is a file: the weights of those kept, a line each
%     file_run_json: what was done
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'bundle', '', ','
    'distance', '--distance', ','
    'length', '--length', ','
    'points', '--points', ','
    'weights', '--weights', ','
    'reference', '--reference', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'file', {''}, false
    'file_weights_txt', {'.weights.txt'}, false
    'file_run_json', {'.run.json'}, false
  };
  files = fimbria.internal.run('tract clean', options, written, 'output', '', true, varargin);
end
