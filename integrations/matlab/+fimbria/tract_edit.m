function files = tract_edit(varargin)
%TRACT_EDIT  Choose streamlines by regions, length, weight or at random, join tractograms, and make points anew.
%   FILES = FIMBRIA.TRACT_EDIT(INPUTS, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     inputs: Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order
%
%   Named:
%     include: Keep what passes this region; all of them where there are several. A region is an image
%     (voxels above zero, on any grid), labels of one (IMAGE:LABEL,LABEL; numbers, or names of --lut), or a
%     ball (X,Y,Z,RADIUS, mm)
%     include_any: Keep what passes one of these regions at least
%     exclude: Leave out what passes one of these regions
%     ends_in: Keep what has an end in this region; given twice, one end in each (the same twice: both ends
%     in it)
%     ends_only: Of every streamline look at its two ends only, for all regions
%     min_length: Keep what is so long at least [from 0 on, mm]
%     max_length: Keep what is so long at most [from 0 on, mm]
%     weights: Weight of each streamline: a text file of numbers, or the name of the tractograms' own data
%     min_weight: Keep what weighs so much at least [from 0 on]
%     max_weight: Keep what weighs so much at most [from 0 on]
%     inverse: Keep what would be left out by all of these together, and leave out the rest
%     skip: Of those, leave out so many at the beginning [from 0 on] [default: 0]
%     number: Of those, keep so many, drawn at random; their order stays [from 1 on] [default: all]
%     rng_seed: Seed of the random numbers [from 0 on] [default: 0]
%     points: Give each streamline so many points, evenly spaced [2 to 100000]
%     step: Space points evenly, as near to this as equal steps from end to end come [above 0, mm]
%     compress: Leave out points as long as none is farther than this from what is left (pieces of 10 mm at
%     most) [above 0, mm]
%     lut: Names of labels: a text file with a number and a name in each line, as FreeSurfer and MRtrix3
%     have it
%     linear: Regions of another space: the 4 x 4 matrix that brings its images onto the data with
%     mrtransform -linear. It takes scanner mm of the data to scanner mm of that space
%     warp: The same for mrtransform -warp: an image on the data's side with three volumes, scanner mm of
%     that space
%     xfm: The same for FSL: the matrix of flirt -omat, or the field that applywarp -w takes, from --xfm-in
%     to --xfm-ref
%     xfm_in: Image of the regions' space: flirt -in, applywarp -i
%     xfm_ref: Image of the data's space: flirt -ref, applywarp -r
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
%     file: the streamlines kept: .tck, .trk, .trx
%     file_weights_txt: where --weights is a file: their weights, a line each
%     file_run_json: what was done
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'inputs', '', ' '
    'include', '--include', 'again'
    'include_any', '--include-any', 'again'
    'exclude', '--exclude', 'again'
    'ends_in', '--ends-in', 'again'
    'ends_only', '--ends-only', 'flag'
    'min_length', '--min-length', ','
    'max_length', '--max-length', ','
    'weights', '--weights', ','
    'min_weight', '--min-weight', ','
    'max_weight', '--max-weight', ','
    'inverse', '--inverse', 'flag'
    'skip', '--skip', ','
    'number', '--number', ','
    'rng_seed', '--rng-seed', ','
    'points', '--points', ','
    'step', '--step', ','
    'compress', '--compress', ','
    'lut', '--lut', ','
    'linear', '--linear', ','
    'warp', '--warp', ','
    'xfm', '--xfm', ','
    'xfm_in', '--xfm-in', ','
    'xfm_ref', '--xfm-ref', ','
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
  files = fimbria.internal.run('tract edit', options, written, 'output', '', true, varargin);
end
