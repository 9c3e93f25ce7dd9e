function files = tract_profile(varargin)
%TRACT_PROFILE  Measure maps along a bundle.
%   FILES = FIMBRIA.TRACT_PROFILE(BUNDLE, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     bundle: Streamlines of one bundle: .tck, .trk, .trx or a TRX folder
%
%   Named:
%     map: Maps to measure, of one volume, on any grid in the same scanner space: FA, MD,
%     points: Points of the profile [2 to 10000] [default: 100]
%     start: Where the bundle begins: X,Y,Z in mm, or a region, as those of `tract edit`; its nearer end is
%     the first point [default: the left end, or of bundles that run mostly the other ways the back or the
%     lower one]
%     lut: Names of labels for --start: a text file with a number and a name in each line
%     weights: Weight of each streamline: a text file of numbers, or the name of the tractogram's own data
%     [default: 1 each]
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
%     profile_tsv: a line for each point: its number from 1, the core there (x, y, z in mm), and of each map
%     the weighted mean, the weighted standard deviation, and the number of streamlines with a value
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'bundle', '', ','
    'map', '--map', ' '
    'points', '--points', ','
    'start', '--start', ','
    'lut', '--lut', ','
    'weights', '--weights', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'profile_tsv', {'profile.tsv'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('tract profile', options, written, 'output', 'profile', false, varargin);
end
