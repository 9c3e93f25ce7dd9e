function files = sift2(varargin)
%SIFT2  Weigh streamlines so that they are as dense as the fibres (the model of SIFT2).
%   FILES = FIMBRIA.SIFT2(TRACTOGRAM, IMAGE, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     tractogram: Tractogram: .tck, .trk, .trx or a TRX folder
%     image: Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis,
%     where the image itself does not say so), of order 4, 6 or 8 (15, 28 or 45 volumes)
%
%   Named:
%     sh_basis: The coefficients are spherical harmonics of this basis [default: what the image says of
%     itself; unique entries where it says nothing]
%     order: Order of the tensors, or highest degree of the harmonics [from 0 on] [default: what the number
%     of volumes says]
%     frame: Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]
%     mask: Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]
%     act: Tissues, of which white matter counts: five volumes as `phantom head` and 5ttgen write them, or
%     labels of FreeSurfer, SynthSeg or FAST; any grid in the same scanner space [default: all voxels count]
%     start: Weights to begin with, as earlier weights.txt or those of tcksift2 [default: all are 1]
%     variation: How far apart the weights of one fixel's streamlines may be: the larger, the nearer [0 to
%     1000000] [default: 0.1]
%     tikhonov: How far weights may be from 1: the larger, the nearer [0 to 1000000] [default: 0]
%     least_filled: Fixels that streamlines at weight 1 fill to less than this part do not count [0 to 1]
%     [default: 0.1]
%     least_peak: Lobes whose maximum is not above this are noise, in units of the densities [0 to
%     1000000000000000000000000000000] [default: 0.10000000149011612]
%     iterations: Iterations at most; with 0 the weights of --start are only judged [0 to 1000000] [default:
%     1000]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     scratch: Folder for compressed images that exceed their share of --memory [default: the system's for
%     temporary files]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     weights_txt: weight of each streamline, a line each, 0 where it passes no fibres: what `connectome
%     --weights` and tck2connectome -tck_weights_in read
%     mu_txt: what turns weight times length (mm) in a voxel into density of fibres
%     iterations_tsv: iteration, objective, and misfit of densities over the densities (root mean squares)
%     run_json: inputs with hashes, parameters, machine, times, misfit before and after
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'tractogram', '', ','
    'image', '', ','
    'sh_basis', '--sh-basis', ','
    'order', '--order', ','
    'frame', '--frame', ','
    'mask', '--mask', ','
    'act', '--act', ','
    'start', '--start', ','
    'variation', '--variation', ','
    'tikhonov', '--tikhonov', ','
    'least_filled', '--least-filled', ','
    'least_peak', '--least-peak', ','
    'iterations', '--iterations', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'scratch', '--scratch', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'weights_txt', {'weights.txt'}, false
    'mu_txt', {'mu.txt'}, false
    'iterations_tsv', {'iterations.tsv'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('sift2', options, written, 'output', 'sift2', false, varargin);
end
