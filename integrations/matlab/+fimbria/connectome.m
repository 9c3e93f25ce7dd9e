function files = connectome(varargin)
%CONNECTOME  Count the streamlines between the regions of a label image.
%   FILES = FIMBRIA.CONNECTOME(TRACTOGRAM, LABELS, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     tractogram: Tractogram: .tck, .trk, .trx or a TRX folder
%     labels: Image of labels: whole numbers, 0 is background
%
%   Named:
%     radius: How far the nearest labelled voxel may be from an end [0 to 100, mm] [default: 4]
%     exact_label: Take the label of the voxel that holds the end, and no other
%     weights: Weight of each streamline: a text file of numbers, or the name of the tractogram's own data
%     map: Also the mean of this map along the streamlines of each edge, as mean_NAME; once for each map:
%     any grid of the same scanner space
%     lut: Names of the labels: a table of FreeSurfer or MRtrix3, or dseg.tsv of BIDS
%     per_length: Divide what each streamline counts by its length, mm
%     per_volume: Divide what an edge counts by the mean number of voxels of its two labels
%     hollow: Leave out what connects a label with itself: the diagonal is 0
%     upper: Leave out what is below the diagonal: each pair stands once, the rest is 0
%     npy: Write each matrix for numpy too
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
%     weights_csv: number of streamlines, or with --weights the sum of their weights; with --per-length
%     (1/mm) and --per-volume divided
%     counts_csv: where weights.csv has something else: number of streamlines
%     lengths_csv: their (weighted) mean length, mm, 0 where there are none
%     mean_csv: with --map: (weighted) mean of a map: first along each streamline by length, then over the
%     streamlines; 0 where there are none
%     labels_txt: the label of each row, ascending
%     labels_tsv: with --lut: index, name: the same with what it is called
%     npy: with --npy: each matrix again, little-endian f64: numpy.load
%     run_json: inputs with hashes, parameters, machine, times, how many were assigned
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'tractogram', '', ','
    'labels', '', ','
    'radius', '--radius', ','
    'exact_label', '--exact-label', 'flag'
    'weights', '--weights', ','
    'map', '--map', 'again'
    'lut', '--lut', ','
    'per_length', '--per-length', 'flag'
    'per_volume', '--per-volume', 'flag'
    'hollow', '--hollow', 'flag'
    'upper', '--upper', 'flag'
    'npy', '--npy', 'flag'
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'weights_csv', {'weights.csv'}, false
    'counts_csv', {'counts.csv'}, false
    'lengths_csv', {'lengths.csv'}, false
    'mean_csv', {'mean_*.csv'}, true
    'labels_txt', {'labels.txt'}, false
    'labels_tsv', {'labels.tsv'}, false
    'npy', {'*.npy'}, true
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('connectome', options, written, 'output', 'connectome', false, varargin);
end
