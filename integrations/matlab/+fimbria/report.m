function files = report(varargin)
%REPORT  Draw the page of a finished folder.
%   FILES = FIMBRIA.REPORT(FOLDER, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     folder: Folder that a command wrote: `run`, `demo`, `fit`, `track`, `life`, `connectome`, `qsm`,
%     `compare` …
%
%   Named:
%     title: Heading of the page [default: the names of the folder and of that above it]
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
%     file: one HTML file that needs no other and no network
%     file_run_json: what was done
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'folder', '', ','
    'title', '--title', ','
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
    'file_run_json', {'.run.json'}, false
  };
  files = fimbria.internal.run('report', options, written, 'output', '', true, varargin);
end
