function files = tract_bundles(varargin)
%TRACT_BUNDLES  Find named bundles by their regions and lengths.
%   FILES = FIMBRIA.TRACT_BUNDLES(INPUTS, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     inputs: Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order
%
%   Named:
%     bundles: Bundles by name: a TOML file with a table for each, whose keys are include, include_any,
%     exclude, ends_in, ends_only, min_length and max_length, as the options of `tract edit`; images are
%     beside the file
%     weights: Weight of each streamline: a text file of numbers, or the name of the tractograms' own data
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
%     tracks: Format of the bundles [default: that of the first tractogram]
%     reference: Image whose voxels volumes are counted in, and whose grid .trk and .trx name [default: the
%     one that the input names, else that of the first region]
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
%     bundles_tsv: name, streamlines, sum of weights, (weighted) mean length in mm, and volume in mm³ of
%     each
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'inputs', '', ' '
    'bundles', '--bundles', ','
    'weights', '--weights', ','
    'lut', '--lut', ','
    'linear', '--linear', ','
    'warp', '--warp', ','
    'xfm', '--xfm', ','
    'xfm_in', '--xfm-in', ','
    'xfm_ref', '--xfm-ref', ','
    'tracks', '--tracks', ','
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
    'bundles_tsv', {'bundles.tsv'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('tract bundles', options, written, 'output', 'bundles', false, varargin);
end
