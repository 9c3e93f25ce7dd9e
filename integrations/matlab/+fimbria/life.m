function files = life(varargin)
%LIFE  Weigh every streamline of a tractogram by what it explains of the signal (LiFE).
%   FILES = FIMBRIA.LIFE(TRACTOGRAM, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     tractogram: Streamlines: TCK, TRK or TRX
%
%   Named:
%     labels: Label image, 3-D: nodes of connectome matrices of the weights (ends count up to 4 mm away)
%     sets: Sets of streamlines for virtual lesions, beside the groups of a TRX: lines of a name and the
%     numbers of streamlines from 0, separated by blanks
%     start: Weights to begin with, one a line
%     dwi: Diffusion-weighted series, 4-D; without --mask all its voxels count
%     bval: b-values in s/mm², FSL form [s/mm²] [default: found beside the image]
%     bvec: Directions, FSL form [default: found beside the image]
%     fslgrad: Directions and b-values, FSL form, in MRtrix3's order [s/mm²]
%     grad: Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]
%     bmatrix: b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]
%     bvec_frame: Axes in which bvecs or b-matrices are given [default: fsl]
%     b0_threshold: b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
%     bvalue_scaling: What directions that are not of unit length mean [default: auto]
%     grad_dev: Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and
%     directions; for `fit dti` and `sticks`, other methods refuse it
%     scratch: Folder for compressed images that exceed their share of --memory [default: the system's for
%     temporary files]
%     second: A second series that repeats the first volume by volume, to predict (cross-validation); its
%     gradient table, where it has one, must say so
%     compat: Take over the conventions of another program; other options still change them
%     atoms: Directions of columns: exact, or grid:STEPS (ENCODE's grid of orientations) [default: grid:360;
%     exact with --compat dipy]
%     directions: Columns for the directions listed in this file, three numbers a line, in the axes that
%     streamlines' are taken in: each part of a streamline takes the nearest
%     axial: Diffusivity along streamlines [above 0, mm²/s] [default: 0.001]
%     radial: Diffusivity across streamlines: 0 is a stick, more a zeppelin [from 0 on, mm²/s] [default: 0]
%     isotropic: Isotropic compartments of every voxel, separated by commas [above 0, mm²/s] [default: none]
%     normalise: What the parts of a streamline in a voxel add up to [default: length; with --compat encode
%     nodes, with dipy none]
%     demean: What is taken from signal and columns [default: mean]
%     rank: Numbers a column is held in: auto (as many as miss 0.1 % of columns), full (one for each volume)
%     or how many [default: auto; full with --compat]
%     solver: How weights are found [default: conjugate; sbb with --compat encode]
%     max_iterations: Iterations at most [from 0 on] [default: 1000; 500 with --compat encode]
%     tolerance: End once the projected gradient is this share of that without weights [0 to below 1]
%     [default: 0.00001]
%     l1: L1 penalty on weights, as a share of the least that leaves none [from 0 on] [default: 0]
%     group: Penalty on each set of streamlines (--sets, or the groups of a TRX): Σ √n ‖w‖, as a share of
%     the least that leaves no set any weight; its steps are of their own [from 0 on] [default: 0]
%     hindered: Hindered compartments around the fibres of every voxel (--peaks), separated by commas:
%     diffusivities across the fibres; along them it is --axial [from 0 on, mm²/s] [default: none]
%     peaks: Fibres of every voxel on the grid of the series, three volumes each, as `fimbria peaks` and
%     sh2peaks write them; their lengths do not count
%     output: Folder to write
%     force: Overwrite existing outputs
%     resume: Go on from what the same command left in OUT/.resume when it was interrupted: to the same
%     bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished
%     format: Format of the maps [default: nii.gz, or mif with --layout mrtrix]
%     layout: Whose names, orders and frames to write [default: fimbria]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     device: Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu,
%     gpu:0,1 or opencl:0 [default: auto]
%     device_memory: Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
%     mask: Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: all]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     weights_txt: the weight of every streamline, one a line, in the order of the input
%     pruned: the streamlines of positive weight, in the input's format; TRX and TRK with their weights per
%     streamline
%     pruned_weights_txt: of TCK: those weights
%     rmse: root mean squared error of the predicted signal, units of the signal, 0 where no streamline is
%     [arbitrary]
%     rmse_s0: root mean squared error over the unweighted signal, 0 where no streamline is
%     rmse_s0_without: the same without streamlines: their weights zero, those of compartments as they are
%     prediction: predicted signal of every volume (unweighted volumes: their mean) [arbitrary]
%     evidence_tsv: virtual lesions: of each set of streamlines (all, TRX groups, --sets) what the signal of
%     its voxels loses without it
%     rmse_xv: with --second: root mean squared error of the prediction of the second series, units of the
%     signal [arbitrary]
%     rrmse: with --second: error of the prediction of the second series over the difference of both series
%     isotropic: with --isotropic: weights of the compartments, a volume each
%     hindered: with --hindered: weights of the compartments around fibres: of the first fibre by each
%     diffusivity, then of the next
%     restricted: with --hindered: what streamlines are of the voxel: their weights by their parts there, of
%     the unweighted signal
%     matrix_csv: with --labels: sums of weights, numbers and mean weights of streamlines of positive weight
%     and their mean lengths (mm) between nodes
%     matrix_labels_txt: with --labels: the labels of rows and columns
%     run_json: inputs with hashes, parameters, objective, nonzero, iterations, optimality, times, counts,
%     warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'tractogram', '', ','
    'labels', '--labels', ','
    'sets', '--sets', ','
    'start', '--start', ','
    'dwi', '--dwi', ','
    'bval', '--bval', ','
    'bvec', '--bvec', ','
    'fslgrad', '--fslgrad', ' '
    'grad', '--grad', ','
    'bmatrix', '--bmatrix', ','
    'bvec_frame', '--bvec-frame', ','
    'b0_threshold', '--b0-threshold', ','
    'bvalue_scaling', '--bvalue-scaling', ','
    'grad_dev', '--grad-dev', ','
    'scratch', '--scratch', ','
    'second', '--second', ','
    'compat', '--compat', ','
    'atoms', '--atoms', ','
    'directions', '--directions', ','
    'axial', '--axial', ','
    'radial', '--radial', ','
    'isotropic', '--isotropic', ','
    'normalise', '--normalise', ','
    'demean', '--demean', ','
    'rank', '--rank', ','
    'solver', '--solver', ','
    'max_iterations', '--max-iterations', ','
    'tolerance', '--tolerance', ','
    'l1', '--l1', ','
    'group', '--group', ','
    'hindered', '--hindered', ','
    'peaks', '--peaks', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'resume', '--resume', 'flag'
    'format', '--format', ','
    'layout', '--layout', ','
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'mask', '--mask', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'weights_txt', {'weights.txt'}, false
    'pruned', {'pruned.*'}, false
    'pruned_weights_txt', {'pruned_weights.txt'}, false
    'rmse', {'rmse.{image}'}, false
    'rmse_s0', {'rmse_s0.{image}'}, false
    'rmse_s0_without', {'rmse_s0_without.{image}'}, false
    'prediction', {'prediction.{image}'}, false
    'evidence_tsv', {'evidence.tsv'}, false
    'rmse_xv', {'rmse_xv.{image}'}, false
    'rrmse', {'rrmse.{image}'}, false
    'isotropic', {'isotropic.{image}'}, false
    'hindered', {'hindered.{image}'}, false
    'restricted', {'restricted.{image}'}, false
    'matrix_csv', {'matrix_*.csv'}, true
    'matrix_labels_txt', {'matrix_labels.txt'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('life', options, written, 'output', 'life', false, varargin);
end
