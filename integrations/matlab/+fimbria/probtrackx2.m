function files = probtrackx2(varargin)
%PROBTRACKX2  Track as FSL's probtrackx2 does: its options, its files, its numbers.
%   FILES = FIMBRIA.PROBTRACKX2(VERBOSITY, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     verbosity: How much is said: 0, or 1 and 2 for what was read [0 to 2] [default: 0]
%
%   Named:
%     samples: Base name of the samples: BASE_th1samples, BASE_ph1samples, BASE_f1samples, ...2
%     mask: Brain mask, on the grid of the samples
%     seed: Seeds: an image, a GIFTI surface (.gii), or a text file that lists them; with --simple, voxel
%     coordinates
%     out: Base name of the map of visits [default: fdt_paths]
%     dir: Folder to write; where it exists, one with + after its name [default: logdir]
%     forcedir: Write to exactly that folder
%     simple: Seeds are points in a text file: voxel coordinates, N rows of 3 or 3 rows of N
%     xfm: Transform from seed space to that of the samples, as FLIRT writes it, or a warp field [default:
%     identity]
%     invxfm: The transform back; needed, and used, with warp fields
%     seedref: Image whose grid is the seed space [default: the brain mask]
%     meshspace: What coordinates of surfaces count in [default: caret]
%     closestvertex: Of a triangle that is crossed, count the nearest vertex instead of all three
%     opd: The map of visits
%     pd: Count distances from the seed (mm) instead of visits
%     ompl: Mean lengths too
%     os2t: For every target a map of the seeds that reach it
%     targetmasks: The targets: an image, a surface, or a text file that lists them
%     s2tastext: Seeds and targets as a matrix of text
%     otargetpaths: For every target a map of the visits of the samples that reach it, with --os2t
%     omatrix1: The sparse matrix from seed to seed
%     distthresh1: Least length of what that matrix counts [from 0 on, mm] [default: 0]
%     omatrix2: The sparse matrix from seed to voxel of --target2
%     target2: Its voxels: a mask on a grid of its own, usually a coarse one, whose first voxel has the same
%     centre
%     omatrix3: The sparse matrix between places of --target3, wherever streamlines start
%     target3: Its rows, and its columns unless --lrtarget3 gives them: an image, a surface, or a list of
%     them
%     lrtarget3: Its columns
%     distthresh3: Least length of what matrix 3 counts [from 0 on, mm] [default: 0]
%     fopd: The map of visits in these regions alone, too: an image, or a list of images
%     opathdir: Mean orientations of paths
%     savepaths: Every path, as text
%     waypoints: Where streamlines must go
%     waycond: To all of them, or to one [default: AND]
%     wayorder: In the order of the list
%     onewaycondition: Each half by itself
%     avoid: Where they must not go
%     stop: Where they end on entering
%     wtstop: Where they end on leaving
%     network: Keep only what reaches another of the seed regions
%     forcefirststep: Ask --avoid and --stop from the second point on
%     nsamples: Samples per seed [1 to 1000000000] [default: 5000]
%     nsteps: Steps per sample, both halves together [2 to 2000000] [default: 2000]
%     steplength: Length of a step [above 0, mm] [default: 0.5]
%     distthresh: Drop halves shorter than this [from 0 on, mm] [default: 0]
%     cthr: Least cosine of the angle between steps [-1 to 1] [default: 0.2]
%     fibthresh: Least fraction of fibres to consider [0 to 1] [default: 0.01]
%     loopcheck: End paths that come back on themselves
%     usef: End paths where fractions are low, with probability 1 - f at each step
%     modeuler: Modified Euler steps
%     sampvox: Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0]
%     randfib: First fibre: 0 the first, 1 any above --fibthresh, 2 the same by fraction, 3 any [0 to 3]
%     [default: 0]
%     fibst: Always start with this fibre, whatever --randfib says [from 1 on]
%     rseed: Seed of the random numbers [from 0 on] [default: 12345]
%     prefdir: Of 3 volumes: directions (FSL's frame) that the fibre to follow is nearest to, in place of
%     the current direction, where not zero. Of 1: the rule by which it is chosen at all steps but the
%     first, as --randfib has them, where 1 or more
%     locfibchoice: The rule by which the fibre is chosen in the voxel looked up: 1 any above --fibthresh, 2
%     any of those within 40 degrees, 3 any by fraction, else the nearest
%     loccurvthresh: Least cosine of the angle between steps, in place of --cthr
%     no_integrity: Where no fibre is drawn and the last one is followed on; on the grid of the seeds
%     noprobinterpol: Look the nearest voxel up, not a random corner
%     onewayonly: From surfaces go into the brain only, against the normal of the vertex; both ways with
%     --omatrix3
%     rng: Random numbers: philox; constant:U, always U; lcg:X, a linear congruence from X. The latter two
%     are drawn in FSL's order by one thread, to repeat a path exactly [default: philox]
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
%     fdt_paths: with --opd: visits of each voxel, one per sample at most, under the name of --out; of each
%     point with --simple, fdt_paths_X_Y_Z; sums of distances with --pd
%     fdt_paths_lengths: with --ompl: mean distance from the seed [mm]
%     fdt_paths_alt: with --fopd: visits in the regions of --fopd, 0 elsewhere; of several _alt_0, _alt_1
%     and so on
%     fdt_paths_localdir: with --opathdir: mean orientation of the steps that first enter a voxel
%     waytotal: samples kept; with --network a row for each seed region
%     seeds_to: with --os2t: samples of each seed that reach the target
%     seeds_to_gii: with --os2t: the same of a surface
%     target_paths: with --otargetpaths: visits of each voxel by the samples that reach the target, counted
%     as fdt_paths
%     target_paths_lengths: with --otargetpaths and --ompl: their mean distance from the seed [mm]
%     target_localdir: with --otargetpaths and --opathdir: mean orientation of the steps by which they first
%     enter a voxel
%     matrix_seeds_to_all_targets: with --s2tastext: the same as text
%     fdt_network_matrix: with --network: samples from region (row) to region (column)
%     fdt_network_matrix_lengths: with --network and --ompl: their mean lengths, mm
%     fdt_matrix1_dot: with --omatrix1: samples from seed (row) to seed (column): row column value, 1-based
%     coords_for_fdt_matrix1: with --omatrix1: x y z region number of each seed, stored voxel coordinates
%     fdt_matrix2_dot: with --omatrix2: samples from seed (row) to voxel of --target2 (column)
%     coords_for_fdt_matrix2: with --omatrix2: where rows are
%     tract_space_coords_for_fdt_matrix2: with --omatrix2: where columns are
%     lookup_tractspace_fdt_matrix2: with --omatrix2: the column of each voxel
%     fdt_matrix3_dot: with --omatrix3: samples through two voxels of --target3, row before column, or
%     through one of it and one of --lrtarget3
%     coords_for_fdt_matrix3: with --omatrix3: where rows are
%     tract_space_coords_for_fdt_matrix3: with --omatrix3: where columns are, where they have voxels of
%     their own
%     fdt_matrix_lengths_dot: with --ompl: mean lengths of the entries, mm
%     saved_paths_txt: with --savepaths: paths
%     probtrackx_log: what was done, why halves ended
%     run_json: the same for programs
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'verbosity', '', ','
    'samples', '--samples', ','
    'mask', '--mask', ','
    'seed', '--seed', ','
    'out', '--out', ','
    'dir', '--dir', ','
    'forcedir', '--forcedir', 'flag'
    'simple', '--simple', 'flag'
    'xfm', '--xfm', ','
    'invxfm', '--invxfm', ','
    'seedref', '--seedref', ','
    'meshspace', '--meshspace', ','
    'closestvertex', '--closestvertex', 'flag'
    'opd', '--opd', 'flag'
    'pd', '--pd', 'flag'
    'ompl', '--ompl', 'flag'
    'os2t', '--os2t', 'flag'
    'targetmasks', '--targetmasks', ','
    's2tastext', '--s2tastext', 'flag'
    'otargetpaths', '--otargetpaths', 'flag'
    'omatrix1', '--omatrix1', 'flag'
    'distthresh1', '--distthresh1', ','
    'omatrix2', '--omatrix2', 'flag'
    'target2', '--target2', ','
    'omatrix3', '--omatrix3', 'flag'
    'target3', '--target3', ','
    'lrtarget3', '--lrtarget3', ','
    'distthresh3', '--distthresh3', ','
    'fopd', '--fopd', ','
    'opathdir', '--opathdir', 'flag'
    'savepaths', '--savepaths', 'flag'
    'waypoints', '--waypoints', ','
    'waycond', '--waycond', ','
    'wayorder', '--wayorder', 'flag'
    'onewaycondition', '--onewaycondition', 'flag'
    'avoid', '--avoid', ','
    'stop', '--stop', ','
    'wtstop', '--wtstop', ','
    'network', '--network', 'flag'
    'forcefirststep', '--forcefirststep', 'flag'
    'nsamples', '--nsamples', ','
    'nsteps', '--nsteps', ','
    'steplength', '--steplength', ','
    'distthresh', '--distthresh', ','
    'cthr', '--cthr', ','
    'fibthresh', '--fibthresh', ','
    'loopcheck', '--loopcheck', 'flag'
    'usef', '--usef', 'flag'
    'modeuler', '--modeuler', 'flag'
    'sampvox', '--sampvox', ','
    'randfib', '--randfib', ','
    'fibst', '--fibst', ','
    'rseed', '--rseed', ','
    'prefdir', '--prefdir', ','
    'locfibchoice', '--locfibchoice', ','
    'loccurvthresh', '--loccurvthresh', ','
    'no_integrity', '--no_integrity', ','
    'noprobinterpol', '--noprobinterpol', 'flag'
    'onewayonly', '--onewayonly', 'flag'
    'rng', '--rng', ','
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'fdt_paths', {'fdt_paths*.{image}'}, true
    'fdt_paths_lengths', {'fdt_paths*_lengths.{image}'}, true
    'fdt_paths_alt', {'fdt_paths*_alt*.{image}'}, true
    'fdt_paths_localdir', {'fdt_paths*_localdir.{image}'}, true
    'waytotal', {'waytotal'}, false
    'seeds_to', {'seeds_*to_*.{image}'}, true
    'seeds_to_gii', {'seeds_*to_*.gii'}, true
    'target_paths', {'target_paths_*.{image}'}, true
    'target_paths_lengths', {'target_paths_*_lengths.{image}'}, true
    'target_localdir', {'target_localdir_*.{image}'}, true
    'matrix_seeds_to_all_targets', {'matrix_seeds_to_all_targets'}, false
    'fdt_network_matrix', {'fdt_network_matrix'}, false
    'fdt_network_matrix_lengths', {'fdt_network_matrix_lengths'}, false
    'fdt_matrix1_dot', {'fdt_matrix1.dot'}, false
    'coords_for_fdt_matrix1', {'coords_for_fdt_matrix1'}, false
    'fdt_matrix2_dot', {'fdt_matrix2.dot'}, false
    'coords_for_fdt_matrix2', {'coords_for_fdt_matrix2'}, false
    'tract_space_coords_for_fdt_matrix2', {'tract_space_coords_for_fdt_matrix2'}, false
    'lookup_tractspace_fdt_matrix2', {'lookup_tractspace_fdt_matrix2.{image}'}, false
    'fdt_matrix3_dot', {'fdt_matrix3.dot'}, false
    'coords_for_fdt_matrix3', {'coords_for_fdt_matrix3'}, false
    'tract_space_coords_for_fdt_matrix3', {'tract_space_coords_for_fdt_matrix3'}, false
    'fdt_matrix_lengths_dot', {'fdt_matrix*_lengths.dot'}, true
    'saved_paths_txt', {'saved_paths.txt'}, false
    'probtrackx_log', {'probtrackx.log'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('probtrackx2', options, written, 'out', 'probtrackx2', false, varargin);
end
